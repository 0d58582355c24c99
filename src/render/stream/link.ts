/** Addresses that models write: which of them may be followed, and how they are shown. */

/** Others may run a program or read a file when somebody clicks on them. */
const FOLLOWED: ReadonlySet<string> = new Set(["http:", "https:", "mailto:"]);

/** The address as it may stand in an escape sequence, or nothing. */
export function findSafeAddress(address: string): string | undefined {
  const url = URL.parse(address);
  if (url === null || !FOLLOWED.has(url.protocol)) return undefined;
  return /^[\x21-\x7e]+$/.test(url.href) ? url.href : undefined;
}

/** OSC 8. The address comes from `findSafeAddress`. */
export function hyperlink(address: string, text: string): string {
  return `\x1b]8;;${address}\x1b\\${text}\x1b]8;;\x1b\\`;
}

/** Whether the text of a link already says where it leads. */
export function saysAddress(text: string, address: string): boolean {
  return ["", "mailto:", "http://", "https://"].some((before) => before + text === address);
}

/** A text that names another place than the one the link leads to must not hide that. */
export function looksLikeAddress(text: string): boolean {
  return /:\/\/|^www\.|^[\w-]+(?:\.[\w-]+)+(?:\/|$)/i.test(text.trim());
}
