/** Shows where an address leads: letters of another script, numbers and user names can make a host look like another one. */

/** The host as it will be looked up, if the text is an address that writes it in another way. */
export function findOtherHost(text: string): string | undefined {
  const url = /^\s*https?:/i.test(text) ? URL.parse(text) : null;
  if (url === null) return undefined;
  const written = /^https?:\/\/([^/?#]*)/i.exec(text)?.[1]?.toLowerCase();
  const port = url.protocol === "https:" ? 443 : 80;
  return written === url.host || written === `${url.hostname}:${port}` ? undefined : url.host;
}
