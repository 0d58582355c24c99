/** Why something cannot be attached. */
import { JpError } from "../../util/index.ts";

/** The codes of an `AttachmentError`. `attachment_refused`: the model does not accept it. */
export type AttachmentErrorCode =
  | "attachment_not_found"
  | "attachment_not_read"
  | "attachment_refused"
  | "attachments_too_large";

/** Names what cannot be attached, and why. */
export class AttachmentError extends JpError<AttachmentErrorCode> {}
