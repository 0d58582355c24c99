/** A task for a prompter. */
import type {
  DeliveryRequest,
  DoubtRequest,
  FormRequest,
  InterruptMenu,
  InterruptRequest,
  PermissionRequest,
  PermissionsRequest,
  Prompter,
  PromptRequest,
  QuestionRequest,
} from "../../src/core/agent/index.ts";
import { type InquiryId, isActing, questionAbout } from "../../src/record/conversation/index.ts";

/** A request has more than a test is about. */
type Shown<Request, Needed extends keyof Request> = Pick<Request, Needed> &
  Omit<Partial<Request>, "kind" | "signal" | "check" | "checkGrant">;

type TaskQuestion = Shown<QuestionRequest, "question">;

type TaskCalls = Omit<Shown<PermissionsRequest, "kind">, "calls"> & {
  readonly calls: readonly Shown<PermissionRequest, "tool">[];
};

type TaskRequest =
  | (TaskQuestion & { readonly kind?: "question" })
  | Shown<DoubtRequest, "kind" | "tool">
  | Shown<PermissionRequest, "kind" | "tool">
  | TaskCalls
  | Shown<DeliveryRequest, "kind" | "tool" | "content">
  | (Omit<Shown<FormRequest, "kind">, "fields"> & { readonly fields: readonly TaskQuestion[] });

export type PrompterTask = {
  readonly notification?: { readonly bell: boolean; readonly desktop: boolean };
  /** The text that the editor returns; `$TEXT` stands for the original. With `fail`, the editor fails. */
  readonly edited?: string;
  /** Output before the prompt, possibly without a line break at the end. */
  readonly printFirst?: string;
  /** The time, as on the user's own clock. */
  readonly now?: string;
  /** Uses plain text. */
  readonly isPlain?: boolean;
  /** The result is how many descriptors of `/dev/tty` are still open when the program exits. */
  readonly countsDescriptors?: boolean;
} & (
  | {
      readonly method: "ask";
      readonly request: TaskRequest;
      /** The arguments, as JSON, that the check of a permission rejects. */
      readonly refused?: string;
    }
  | { readonly method: "choose"; readonly request: Omit<InterruptRequest, "signal"> }
);

/** The result or the error, after a round trip through JSON. */
export async function runPrompterTask(
  prompter: Prompter & InterruptMenu,
  task: PrompterTask,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    const result = await (task.method === "choose"
      ? prompter.choose({ ...task.request, signal })
      : prompter.ask(toRequest(task, signal)));
    return JSON.parse(JSON.stringify(result)) as unknown;
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    return { code, message };
  }
}

/** The id of a request whose task gives none. */
export const TASK_ID = "call_1.q.1" as InquiryId; // In the format of the agent.

/** The cast adds what a task leaves out because nothing shows it. */
function toRequest(
  { request, refused }: Extract<PrompterTask, { readonly method: "ask" }>,
  signal: AbortSignal,
): PromptRequest {
  const base = { inquiryId: TASK_ID, signal };
  const filled = (() => {
    switch (request.kind) {
      case undefined:
      case "question":
        return { ...base, ...withGrants(request, refused), ...toField(request) };
      case "form": {
        const fields = request.fields.map((field) => ({ ...base, ...toField(field) }));
        return { ...base, acts: fields.some(({ acts }) => acts), ...request, fields };
      }
      case "permission":
        return { ...base, ...toPermission(request, refused) };
      case "permissions": {
        const calls = request.calls.map((call, index) => ({
          ...base,
          ...toPermission(call, refused),
          allowsLater: request.allowsLater === true,
          inquiryId: `call_${index + 1}:run:1`,
        }));
        return { ...base, acts: true, ...request, calls };
      }
      case "in_doubt": {
        const question = questionAbout(request.kind, request.tool);
        return { ...base, question, acts: true, canRemember: false, arguments: {}, ...request };
      }
      case "delivery": {
        const question = questionAbout(request.kind, request.tool);
        const shown = { question, acts: false, canRemember: false, arguments: {} };
        return { ...base, ...shown, isError: false, isEditing: false, ...request };
      }
      default:
        return request satisfies never;
    }
  })();
  return filled as PromptRequest;
}

function toPermission(request: Shown<PermissionRequest, "tool">, refused: string | undefined) {
  const question = questionAbout("permission", request.tool);
  const check = async (edited: object) =>
    JSON.stringify(edited) === refused ? "No \u001b[2Jgood." : undefined;
  const shown = { question, acts: true, canRemember: true, arguments: {}, isEditing: false };
  return { kind: "permission", ...shown, check, ...withGrants(request, refused), ...request };
}

/** A rule of one's own can be granted, except the one that is refused. */
function withGrants({ grants }: Pick<QuestionRequest, "grants">, refused: string | undefined) {
  if (grants === undefined) return {};
  const checkGrant: QuestionRequest["checkGrant"] = async (rule) =>
    JSON.stringify(rule) === refused
      ? { problem: "No \u001b[2Jgood." }
      : { rule, code: "rule", parts: [JSON.stringify(rule)] };
  return { checkGrant };
}

/** As the agent would ask the question of a tool. */
function toField(field: TaskQuestion) {
  const { question, source = { source: "tool", name: "sweep" } } = field;
  return { kind: "question", acts: isActing({ question, source }), ...field };
}

/** The editor of a task. */
export function editByTask({ edited = "" }: PrompterTask, text: string, extension: string): string {
  if (edited === "fail") throw new Error("No editor \u001b[2Jis set.");
  return edited.replace("$TEXT", text).replace("$EXTENSION", extension);
}
