/** What a prompter is told to do. */
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
  /** What an editor makes of a text; `$TEXT` stands for it, `fail` for an editor that fails. */
  readonly edited?: string;
  /** Without a line break at its end, perhaps. */
  readonly printFirst?: string;
  /** Asked in lines of text. */
  readonly isPlain?: boolean;
  /** The same is asked twice at once. */
  readonly isTwice?: boolean;
  /** The result is how many descriptors of `/dev/tty` are still open when the program exits. */
  readonly countsDescriptors?: boolean;
} & (
  | { readonly method: "ask"; readonly request: Omit<PromptRequest, "signal"> }
  | { readonly method: "askForm"; readonly request: Omit<FormRequest, "signal"> }
  | {
      readonly method: "askPermission";
      readonly request: Omit<PermissionRequest, "signal" | "check">;
      /** The arguments, as JSON, that the check does not accept. */
      readonly refused?: string;
    }
  | { readonly method: "askDelivery"; readonly request: Omit<DeliveryRequest, "signal"> }
  | { readonly method: "choose"; readonly request: Omit<InterruptRequest, "signal"> }
);

/** What comes of it, as JSON keeps it: a result, two of them, or the error. */
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

/** What the editor of a task makes of a text. */
export function editByTask({ edited = "" }: PrompterTask, text: string, extension: string): string {
  if (edited === "fail") throw new Error("No editor \u001b[2Jis set.");
  return edited.replace("$TEXT", text).replace("$EXTENSION", extension);
}
