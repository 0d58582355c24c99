/** The place in the user's words where the server's own are put. */

const PLACEHOLDER = /\{\{\s*description\s*\}\}/g;

export function withServerText(text: string, serverText: string): string {
  return text.replaceAll(PLACEHOLDER, () => serverText);
}
