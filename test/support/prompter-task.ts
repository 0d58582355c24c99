/** What the prompter program is told to do. */
import type {
  DeliveryRequest,
  FormRequest,
  InterruptRequest,
  PermissionRequest,
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
