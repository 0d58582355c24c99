/**
 * Decides which part of a config is safe to use: anything that a workspace's own files would run, connect to or allow
 * applies only once the user has trusted it, and needs new trust when it changes.
 */
import {
  applyDirectives,
  foldLayers,
  type Layer,
  type PartialConfig,
  resolveTools,
  type ToolDirective,
} from "../config/index.ts";
import { isListedFolder } from "../../stores/index.ts";
import { booleanQuestion } from "../../record/tool/index.ts";
import {
  isDeepEqual,
  isJsonObject,
  JpError,
  type Json,
  type JsonObject,
  loadModule,
} from "../../util/index.ts";
import {
  type Claim,
  findClaims,
  type FoundProgram,
  type InstructingFile,
  instructionClaim,
  isClaimWithin,
  programClaim,
  withoutClaims,
} from "./claims.ts";
import { describeClaim, listClaims } from "./describe-claim.ts";
import { TrustStore } from "./trust-store.ts";
import { tableAt } from "./views.ts";

/** A workspace, and the store for the user's trust in it. */
export interface WorkspaceTrustOptions {
  /** The root of the workspace. */
  readonly root: string;
  /** The user's data folder, outside the workspace. */
  readonly dataFolder: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Finds the programs of a config, or the user's editor, that the workspace provides. By default, there are none. */
  readonly findPrograms?: (config: PartialConfig) => readonly FoundProgram[];
}

/** A user's trust in one workspace. */
export class WorkspaceTrust {
  readonly #root: string;
  readonly #variables: WorkspaceTrustOptions["variables"];
  readonly #findPrograms: NonNullable<WorkspaceTrustOptions["findPrograms"]>;
  readonly #store: TrustStore;

  constructor({ root, dataFolder, variables, findPrograms = () => [] }: WorkspaceTrustOptions) {
    this.#root = root;
    this.#variables = variables;
    this.#findPrograms = findPrograms;
    this.#store = new TrustStore(dataFolder, root);
  }

  /** The claims that are trusted neither for the whole workspace nor for this conversation. */
  async findUntrusted(
    layers: readonly Layer[],
    conversationId?: string,
    instructions: readonly InstructingFile[] = [],
  ): Promise<readonly Claim[]> {
    const trustedTexts =
      instructions.length === 0 ? new Map<string, string>() : this.#store.trustedTexts();
    // Without config from the workspace, the code that finds claims is not even loaded.
    const hasConfig = layers.some(({ isFromWorkspace }) => isFromWorkspace);
    const claims = [
      ...(hasConfig ? findClaims(layers) : []),
      ...this.#findPrograms(foldLayers(layers)).map((found) => programClaim(found)),
      ...(await Promise.all(
        instructions.map(async (file) =>
          instructionClaim(file, await findChanges(trustedTexts.get(file.name), file.content)),
        ),
      )),
    ];
    return this.#withoutTrusted(claims, conversationId);
  }

  /** The programs of this config alone that are not trusted. */
  async findUntrustedPrograms(config: PartialConfig): Promise<readonly Claim[]> {
    return this.#withoutTrusted(this.#findPrograms(config).map((found) => programClaim(found)));
  }

  async #withoutTrusted(
    claims: readonly Claim[],
    conversationId?: string,
  ): Promise<readonly Claim[]> {
    if (claims.length === 0 || this.#isTrustedByVariable()) return [];
    const scopes = conversationId === undefined ? [undefined] : [undefined, conversationId];
    const keysOf = (claim: Claim) => scopes.map((scope) => claimKey(claim, scope));
    const trusted = await this.#store.filterTrusted(claims.flatMap(keysOf));
    return claims.filter((claim) => !keysOf(claim).some((key) => trusted.has(key)));
  }

  /** Throws `write_failed`. */
  async trust(claims: readonly Claim[]): Promise<void> {
    const shown = claims.flatMap(({ kind, name, inForce: { content } }) =>
      (kind === "instructions" || kind === "command") && typeof content === "string"
        ? [[name, content] as const]
        : [],
    );
    await this.#store.add(
      claims.map((claim) => claimKey(claim)),
      new Map(shown),
    );
  }

  /**
   * Trusts what the user has just written to a file of the workspace: a claim that consists only of it, or that differs
   * only by it from a trusted one. Throws `write_failed`.
   */
  async trustWritten({ before, after, written }: WrittenConfig): Promise<void> {
    const trusted = new Map(findClaims(before).map((claim) => [nameOf(claim), claim]));
    for (const claim of await this.findUntrusted(before)) trusted.delete(nameOf(claim));
    const own = (await this.findUntrusted(after)).filter((claim) => {
      if (isClaimWithin(written, claim)) return true;
      const known = trusted.get(nameOf(claim));
      const change = tableAt(written, claim.path);
      return known !== undefined && isChangedBy(change, known.value, claim.value);
    });
    await this.trust(own);
  }

  /**
   * Trusts a file that instructs models, after an edit that the user has seen in full. False if it was not trusted
   * before: the user has not seen the rest of it. Without `before`, it is new. Throws `write_failed`.
   */
  async trustEdited(before: InstructingFile | undefined, after: InstructingFile): Promise<boolean> {
    if (before !== undefined) {
      const key = claimKey(instructionClaim(before));
      // Ignores the variable, which grants trust only while it is set.
      if (!(await this.#store.filterTrusted([key])).has(key)) return false;
    }
    await this.trust([instructionClaim(after)]);
    return true;
  }

  /** Throws `write_failed`. */
  async forget(): Promise<void> {
    await this.#store.clear();
  }

  /**
   * Trusts the part of the config in force that a conversation now records, for this conversation only: it came from the
   * user or was trusted before, so the next turn need not ask, although the record is in the workspace. Other content of
   * the record stays untrusted, and so does anything that only the variable allows. Throws `write_failed`.
   */
  async trustRecord(
    { layers, config: inForce }: TrustedConfig,
    conversation: { readonly id: string; readonly config: PartialConfig },
  ): Promise<void> {
    const { id, config } = conversation;
    const lasting = layers.filter(
      ({ name, isTemporary }) => name !== "conversation" && !isTemporary,
    );
    const record: Layer = { name: "conversation", config, isFromWorkspace: true };
    const claims = await this.findUntrusted([...lasting, record], id);
    const wanted = claims.filter((claim) => isClaimWithin(inForce, claim));
    await this.#store.add(wanted.map((claim) => claimKey(claim, id)));
  }

  /** Meant for machines without a user. */
  #isTrustedByVariable(): boolean {
    return isListedFolder(this.#root, this.#variables["JP_TRUSTED_WORKSPACES"]);
  }
}

/** A user's change to a file of the workspace. */
export interface WrittenConfig {
  readonly before: readonly Layer[];
  readonly after: readonly Layer[];
  /** Groups are replaced by their tools. */
  readonly written: PartialConfig;
}

function nameOf({ kind, name }: Claim): string {
  return JSON.stringify([kind, name]);
}

/** Whether two values differ only by a change. */
function isChangedBy(
  change: Json | undefined,
  before: Json | undefined,
  after: Json | undefined,
): boolean {
  if (isDeepEqual(before, after)) return true;
  if (change === undefined) return false;
  if (!isJsonObject(change) || !isJsonObject(after)) return isDeepEqual(change, after);
  const old = isJsonObject(before) ? before : {};
  const keys = new Set([...Object.keys(old), ...Object.keys(after)]);
  return [...keys].every((key) =>
    isChangedBy(memberOf(change, key), memberOf(old, key), memberOf(after, key)),
  );
}

function memberOf(table: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** A config that is safe to use. */
export interface TrustedConfig {
  readonly config: PartialConfig;
  /** Untrusted claims, which are not part of it. */
  readonly withheld: readonly Claim[];
  readonly layers: readonly Layer[];
  /** The trusted files that may instruct models. They may have changed since. */
  readonly instructions: readonly InstructingFile[];
}

type WithheldConfig = Pick<TrustedConfig, "config" | "withheld">;
type TrustQuestion = ReturnType<typeof booleanQuestion>;

/** The layers of a config, and how to ask the user for trust. */
export interface TrustRequest {
  readonly layers: readonly Layer[];
  readonly conversationId?: string | undefined;
  /** Files of the workspace that would instruct models. */
  readonly instructions?: readonly InstructingFile[] | undefined;
  /** Applied after untrusted claims are removed. */
  readonly directives?: readonly ToolDirective[] | undefined;
  /**
   * Asks the user. Absent, or returns undefined, if no one can be asked. `without` is the config that applies if the
   * answer is no.
   */
  readonly ask?:
    | ((question: TrustQuestion, without: WithheldConfig) => Promise<boolean | undefined>)
    | undefined;
}

/**
 * The config without untrusted claims. Asks the user to trust them if possible. `trust` is undefined outside a workspace.
 * Throws `workspace_not_trusted` if a directive names a withheld tool, and the errors of `applyDirectives`.
 */
export async function resolveTrustedConfig(
  trust: WorkspaceTrust | undefined,
  { layers, conversationId, instructions: files = [], directives = [], ask }: TrustRequest,
): Promise<TrustedConfig> {
  let withheld = (await trust?.findUntrusted(layers, conversationId, files)) ?? [];
  let config = withheld.length === 0 ? foldLayers(layers) : withoutClaims(layers, withheld);
  const without = { config, withheld };
  if (withheld.length > 0 && (await ask?.(trustQuestion(withheld), without)) === true) {
    await trust?.trust(withheld);
    withheld = [];
    config = foldLayers(layers);
  }
  const isWithheld = ({ name }: InstructingFile) =>
    withheld.some((claim) => claim.kind === "instructions" && claim.name === name);
  const instructions = files.filter((file) => !isWithheld(file));
  for (const { name = "" } of directives) assertTrusted(name, { config, withheld });
  return { config: applyDirectives(config, directives), withheld, layers, instructions };
}

/** Asks whether to trust the claims, and lists them. */
export function trustQuestion(claims: readonly Claim[]): TrustQuestion {
  const things = claims.length === 1 ? "one thing" : `${claims.length} things`;
  return booleanQuestion("trust", "Trust this workspace with this?", {
    context: [
      `Files of this workspace configure ${things} that you have not trusted yet:`,
      ...listClaims(claims),
      "If yes, jp asks again when this changes.",
      "If no, jp continues without it for now.",
    ].join("\n"),
    persistence: "none",
    acts: true,
  });
}

/** Tells the user how to trust withheld claims. */
export const TRUST_HINT = "Run `jp trust` to review it.";

/** Lists the claims that are not used, and why. */
export function describeWithheld(claims: readonly Claim[]): string {
  const names = claims.map(describeClaim).join(", ");
  return `not used, because you have not trusted this workspace: ${names}.`;
}

/**
 * Throws `workspace_not_trusted` if the tool is withheld. A tool that exists without the workspace is not withheld, only
 * the workspace's changes to it.
 */
export function assertTrusted(
  tool: string,
  { config, withheld }: Pick<TrustedConfig, "config" | "withheld">,
): void {
  if (resolveTools(config).has(tool)) return;
  if (!withheld.some(({ kind, name }) => kind === "tool" && name === tool)) return;
  const message = `The tool ${tool} comes with this workspace, which you have not trusted yet.`;
  throw new JpError("workspace_not_trusted", message, { hint: TRUST_HINT });
}

/** Time grows with the square of the number of edits: a text that differs more is shown in full. */
const MAX_EDITS = 1000;

/** The differing lines with some context. Undefined if the whole text should be shown. */
async function findChanges(
  before: string | undefined,
  after: string,
): Promise<readonly string[] | undefined> {
  if (before === undefined || before === after) return undefined;
  const { structuredPatch } = await loadModule(() => import("diff"));
  const options = { context: 3, maxEditLength: MAX_EDITS };
  const [old, now] = [before, after].map((text) => `${text}\n`);
  const patch = structuredPatch("", "", old ?? "", now ?? "", undefined, undefined, options);
  return patch?.hunks.flatMap(({ lines }, index) => (index === 0 ? lines : ["…", ...lines]));
}

/** Equal for equal claims, regardless of key order and file. */
function claimKey({ kind, name, value }: Claim, conversationId?: string): string {
  const scope = conversationId === undefined ? [] : [conversationId];
  return JSON.stringify([kind, name, value, ...scope], (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(
          Object.entries(member).toSorted(([one], [other]) => (one < other ? -1 : 1)),
        )
      : member,
  );
}
