/** Reveals where a URL leads: letters of other scripts, numbers and user names can disguise a host. */

/** The host as it will be resolved, if the text is a URL that spells it differently. */
export function findOtherHost(text: string): string | undefined {
  const url = /^\s*https?:/i.test(text) ? URL.parse(text) : null;
  if (url === null) return undefined;
  const written = /^https?:\/\/([^/?#]*)/i.exec(text)?.[1]?.toLowerCase();
  const port = url.protocol === "https:" ? 443 : 80;
  return written === url.host || written === `${url.hostname}:${port}` ? undefined : url.host;
}
