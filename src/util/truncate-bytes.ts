/** Cuts a text between two characters and says how much is missing. */
export function truncateBytes(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text; // No character takes more.
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const start = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, maxBytes), {
    stream: true,
  });
  return `${start}\n${truncationNotice(bytes.length - maxBytes, bytes.length)}`;
}

/** The line that ends a truncated text. */
export function truncationNotice(omittedBytes: number, totalBytes: number): string {
  return `[Truncated: ${omittedBytes} of ${totalBytes} bytes omitted.]`;
}
