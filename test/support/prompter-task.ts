/** A task for a prompter. */
import type {
  DeliveryRequest,
  FormRequest,
  InterruptMenu,
  InterruptRequest,
  PermissionRequest,
  Prompter,
  PromptRequest,
} from "../../src/agent/index.ts";

import type { ShownPermission } from "../../src/terminal/ask-permission.ts";

/** A request has more than these prompters show. */
type Shown<Request, Needed extends keyof Request> = Pick<Request, Needed> &
  Omit<Partial<Request>, "signal" | "check">;

type FormPrompter = Prompter & Required<Pick<Prompter, "askForm">> & InterruptMenu;

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
  | { readonly method: "ask"; readonly request: Shown<PromptRequest, "inquiryId" | "question"> }
  | {
      readonly method: "askForm";
      readonly request: Omit<Shown<FormRequest, never>, "fields"> & {
        readonly fields: readonly Shown<PromptRequest, "inquiryId" | "question">[];
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
  prompter: FormPrompter,
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

/** The casts add what a task leaves out because nothing shows it. */
function start(prompter: FormPrompter, task: PrompterTask, signal: AbortSignal): Promise<unknown> {
  switch (task.method) {
    case "ask":
      return prompter.ask({ ...task.request, signal } as PromptRequest);
    case "askForm": {
      const fields = task.request.fields.map((field) => ({ ...field, signal }));
      return prompter.askForm({ ...task.request, fields, signal } as FormRequest);
    }
    case "askPermission": {
      const { refused } = task;
      const check = (edited: object) =>
        Promise.resolve(JSON.stringify(edited) === refused ? "No \u001b[2Jgood." : undefined);
      return prompter.askPermission({ ...task.request, check, signal } as PermissionRequest);
    }
    case "askDelivery":
      return prompter.askDelivery({ ...task.request, signal } as DeliveryRequest);
    case "choose":
      return prompter.choose({ ...task.request, signal });
    default:
      return task satisfies never;
  }
}

/** The editor of a task. */
export function editByTask({ edited = "" }: PrompterTask, text: string, extension: string): string {
  if (edited === "fail") throw new Error("No editor \u001b[2Jis set.");
  return edited.replace("$TEXT", text).replace("$EXTENSION", extension);
}
