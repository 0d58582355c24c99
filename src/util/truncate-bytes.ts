/** Cut between two characters, with a notice of what is missing. */
export function truncateBytes(text: string, most: number): string {
  if (text.length * 3 <= most) return text; // No character takes more.
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  const start = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, most), {
    stream: true,
  });
  return `${start}\n[Cut off here: ${bytes.length - most} of ${bytes.length} bytes were left out.]`;
}
