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
  | { readonly method: "ask"; readonly request: Omit<PromptRequest, "signal"> }
  | { readonly method: "askForm"; readonly request: Omit<FormRequest, "signal"> }
  | {
      readonly method: "askPermission";
      readonly request: Omit<PermissionRequest, "signal" | "check">;
      /** The arguments, as JSON, that the check rejects. */
      readonly refused?: string;
    }
  | { readonly method: "askDelivery"; readonly request: Omit<DeliveryRequest, "signal"> }
  | { readonly method: "choose"; readonly request: Omit<InterruptRequest, "signal"> }
);

/** The result, both results, or the error, after a round trip through JSON. */
export async function runPrompterTask(
  prompter: Required<Prompter> & InterruptMenu,
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

function start(
  prompter: Required<Prompter> & InterruptMenu,
  task: PrompterTask,
  signal: AbortSignal,
): Promise<unknown> {
  switch (task.method) {
    case "ask":
      return prompter.ask({ ...task.request, signal });
    case "askForm":
      return prompter.askForm({ ...task.request, signal });
    case "askPermission": {
      const { refused } = task;
      const check = (edited: object) =>
        Promise.resolve(JSON.stringify(edited) === refused ? "No \u001b[2Jgood." : undefined);
      return prompter.askPermission({ ...task.request, check, signal });
    }
    case "askDelivery":
      return prompter.askDelivery({ ...task.request, signal });
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
