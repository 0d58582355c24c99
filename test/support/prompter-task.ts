/** A task for a prompter. */
import type {
  DeliveryRequest,
  FormRequest,
  InterruptMenu,
  InterruptRequest,
  PermissionRequest,
  Prompter,
  PromptRequest,
  QuestionRequest,
} from "../../src/agent/index.ts";

import type { ShownPermission } from "../../src/terminal/ask-permission.ts";

/** A request has more than these prompters show. */
type Shown<Request, Needed extends keyof Request> = Pick<Request, Needed> &
  Omit<Partial<Request>, "signal" | "check">;

type TaskPrompter = Prompter & InterruptMenu;

export type PrompterTask = {
  readonly notification?: { readonly bell: boolean; readonly desktop: boolean };
  /** The text that the editor returns; `$TEXT` stands for the original. With `fail`, the editor fails. */
  readonly edited?: string;
  /** Output before the prompt, possibly without a line break at the end. */
  readonly printFirst?: string;
  /** Uses plain text. */
  readonly isPlain?: boolean;
  /** Asks twice at the same time. */
  readonly isTwice?: boolean;
  /** The result is how many descriptors of `/dev/tty` are still open when the program exits. */
  readonly countsDescriptors?: boolean;
} & (
  | { readonly method: "ask"; readonly request: Shown<QuestionRequest, "inquiryId" | "question"> }
  | {
      readonly method: "askForm";
      readonly request: Omit<Shown<FormRequest, never>, "fields"> & {
        readonly fields: readonly Shown<QuestionRequest, "inquiryId" | "question">[];
      };
    }
  | {
      readonly method: "askPermission";
      readonly request: Shown<
        Omit<PermissionRequest, "origin">,
        "tool" | "arguments" | "isEditing"
      > &
        Pick<ShownPermission, "origin" | "folder">;
      /** The arguments, as JSON, that the check rejects. */
      readonly refused?: string;
    }
  | {
      readonly method: "askDelivery";
      readonly request: Shown<DeliveryRequest, "tool" | "content" | "isError" | "isEditing">;
    }
  | { readonly method: "choose"; readonly request: Omit<InterruptRequest, "signal"> }
);

/** The result, both results, or the error, after a round trip through JSON. */
export async function runPrompterTask(
  prompter: TaskPrompter,
  task: PrompterTask,
  signal: AbortSignal,
): Promise<unknown> {
  const run = () => start(prompter, task, signal);
  try {
    const result = task.isTwice === true ? await Promise.all([run(), run()]) : await run();
    return JSON.parse(JSON.stringify(result)) as unknown;
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    return { code, message };
  }
}

function start(prompter: TaskPrompter, task: PrompterTask, signal: AbortSignal): Promise<unknown> {
  if (task.method === "choose") return prompter.choose({ ...task.request, signal });
  // The cast adds what a task leaves out because nothing shows it.
  return prompter.ask({ ...toRequest(task, signal), signal } as PromptRequest);
}

function toRequest(
  task: Exclude<PrompterTask, { readonly method: "choose" }>,
  signal: AbortSignal,
): object {
  switch (task.method) {
    case "ask":
      return { kind: "question", ...task.request };
    case "askForm": {
      const fields = task.request.fields.map((field) => ({ kind: "question", ...field, signal }));
      return { ...task.request, kind: "form", fields };
    }
    case "askPermission": {
      const { refused } = task;
      const check = (edited: object) =>
        Promise.resolve(JSON.stringify(edited) === refused ? "No \u001b[2Jgood." : undefined);
      return { kind: "permission", acts: true, ...task.request, check };
    }
    case "askDelivery":
      return { kind: "delivery", ...task.request };
    default:
      return task satisfies never;
  }
}

/** The editor of a task. */
export function editByTask({ edited = "" }: PrompterTask, text: string, extension: string): string {
  if (edited === "fail") throw new Error("No editor \u001b[2Jis set.");
  return edited.replace("$TEXT", text).replace("$EXTENSION", extension);
}
