/** One API operation: its request and responses as schemas, used for validation and the OpenAPI document. */
import { type Directory } from "../../record/conversation/index.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context } from "hono";
import * as v from "valibot";
import type { PeopleLogEntry } from "../../settings/people/index.ts";
import type { Clock, JsonObject } from "../../util/index.ts";
import type { Access, Caller } from "./access.ts";
import type { EventStreams } from "./event-streams.ts";
import type { IdempotencyKeys } from "./idempotency.ts";
import {
  ApiError,
  badRequest,
  type DeskEnv,
  type JsonReply,
  readBody,
  readTarget,
  toResponse,
} from "./http.ts";
import type { Passkeys } from "./passkeys.ts";
import type { Desk, PeopleReader, Person } from "./port.ts";
import type { Right } from "./wire.ts";

/** The services that operations use. */
export interface ApiParts {
  readonly desk: Desk;
  readonly people: PeopleReader;
  /** The person behind one-time logins. */
  readonly owner: Person;
  /** The known people. Without it, decisions that need known people cannot be made. */
  readonly directory?: Directory;
  readonly access: Access;
  readonly events: EventStreams;
  readonly keys: IdempotencyKeys;
  readonly passkeys: Passkeys;
  readonly gate: Gate;
  readonly clock: Clock;
  /** The refusal for an error. Reports one that is not the client's. */
  readonly toApiError: (error: unknown) => ApiError;
  /** Whether turns resume when their questions are answered. */
  readonly runs: boolean;
  /** Called with the log entry when a person's keys change. */
  readonly onKeyChange?: ((change: PeopleLogEntry) => void) | undefined;
}

type Entries = Readonly<Record<string, v.GenericSchema>>;
/** Refuses unknown fields. */
type Fields<Of extends Entries> = v.InferOutput<v.StrictObjectSchema<Of, undefined>>;

interface Call<Query extends Entries, Body extends Entries> extends ApiParts {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
  /** Decoded from the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Fields<Query>;
  readonly body: Fields<Body>;
}

/** A status's description and the schema of its JSON. */
export interface ResponseSpec {
  readonly description: string;
  readonly schema: v.GenericSchema;
  /** Defaults to JSON. */
  readonly mediaType?: string;
}

interface OperationSpec<Query extends Entries, Body extends Entries> {
  /** The operation's name in the OpenAPI document. */
  readonly id: string;
  readonly summary: string;
  /** Such as `POST /conversations/{conversation}/resume`, below the API's own path. */
  readonly route: `${"GET" | "POST" | "DELETE"} /${string}`;
  /** The right that the caller needs; `anyone` needs no login, `person` no particular right. */
  readonly needs: Right | "anyone" | "person";
  readonly query?: Query;
  readonly body?: Body;
  readonly maxBytes?: number;
  /** Whether it takes an `Idempotency-Key`. */
  readonly isRepeatable?: boolean;
  readonly responses: Readonly<Record<number, ResponseSpec>>;
  readonly handle: (call: Call<Query, Body>) => Promise<JsonReply | Response>;
}

/** An operation whose request types are erased. */
export interface Operation extends Omit<OperationSpec<Entries, Entries>, "handle" | "route"> {
  readonly method: string;
  readonly path: string;
  /** Throws an `ApiError`. */
  readonly run: (context: Context<DeskEnv>, caller: Caller, parts: ApiParts) => Promise<Response>;
}

/** Long questions have long answers, but a person typed or chose them. */
export const MAX_BODY_BYTES = 64 << 10;

/** A request without parameters, or without a body. */
interface NoEntries {
  readonly [key: string]: never;
}

export function operation<
  const Query extends Entries = NoEntries,
  const Body extends Entries = NoEntries,
>({ handle, route, ...spec }: OperationSpec<Query, Body>): Operation {
  const [method = "", path = ""] = route.split(" ");
  // Without entries, every field is unknown.
  const querySchema = v.strictObject(spec.query ?? ({} as Query));
  const bodySchema = v.strictObject(spec.body ?? ({} as Body));
  return {
    ...spec,
    method,
    path,
    run: async ({ env, req }, caller, parts) => {
      const { incoming: request, outgoing: response } = env;
      const body =
        method === "POST" ? await readBody(request, spec.maxBytes ?? MAX_BODY_BYTES) : {};
      const call = {
        ...parts,
        request,
        response,
        caller,
        params: req.param(),
        query: check(querySchema, fieldsOf(readTarget(request.url).query)),
        body: check(bodySchema, body),
      };
      const reply = await parts.gate.run(() => handle(call));
      return reply instanceof Response ? reply : toResponse(reply);
    },
  };
}

/** Limits concurrent requests. Requests that are still being sent do not count. */
export class Gate {
  readonly #max: number;
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Throws an `ApiError` at the limit. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#count >= this.#max) {
      throw new ApiError(503, "busy", {
        message: "The desk has too much to do. Try again in a moment.",
        headers: { "retry-after": "1" },
      });
    }
    this.#count += 1;
    try {
      return await work();
    } finally {
      this.#count -= 1;
    }
  }
}

/** Throws an `ApiError` if a parameter appears twice, which would be ambiguous. */
function fieldsOf(query: URLSearchParams): JsonObject {
  const repeated = [...query.keys()].find((key) => query.getAll(key).length > 1);
  if (repeated !== undefined) throw badRequest(`${repeated}: given more than once.`);
  return Object.fromEntries(query);
}

function check<Schema extends v.GenericSchema>(schema: Schema, value: JsonObject) {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const field = v.getDotPath(issue) ?? "";
  if (issue.expected === "never") throw badRequest(`${field}: unknown field.`);
  const expected = issue.expected === null ? "something else" : issue.expected;
  throw badRequest(`${field}: expected ${expected}.`);
}
