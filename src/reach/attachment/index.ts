export { AttachmentError, type AttachmentErrorCode } from "./attachment-error.ts";
export { attachmentSize, describeAttachments, type LoadAttachmentsOptions } from "./load.ts";
export { loadAttachments, preloadAttachments } from "./load-attachments.ts";
export {
  findMentions,
  type MentioningText,
  nameAttachment,
  type NamedAttachment,
  type NamingPlace,
  readOutsideFile,
} from "./name.ts";
