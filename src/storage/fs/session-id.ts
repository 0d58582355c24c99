/** Which terminal session this process works in: the same for all commands typed into one. */
import { readFileSync } from "node:fs";

export interface SessionId {
  readonly id: string;
  readonly source: { readonly type: "getsid" } | { readonly type: "env"; readonly key: string };
}

const TERMINAL_VARIABLES = [
  "TMUX_PANE",
  "WEZTERM_PANE",
  "TERM_SESSION_ID",
  "ITERM_SESSION_ID",
  "WT_SESSION",
];

/** `JP_SESSION`, else the system's session, else what the terminal says; undefined if none does. */
export function findSessionId(
  variables: Readonly<Record<string, string | undefined>>,
): SessionId | undefined {
  const own = fromVariable(variables, "JP_SESSION");
  if (own !== undefined) return own;
  const sid = findSystemSession();
  if (sid !== undefined) return { id: sid, source: { type: "getsid" } };
  for (const key of TERMINAL_VARIABLES) {
    const found = fromVariable(variables, key);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The name of a session's file, without its extension. */
export async function sessionKey({ id, source }: SessionId): Promise<string> {
  if (source.type === "getsid") return `getsid-${safe(id)}`;
  // Costs a fifth of Node's own start: loaded when a session is looked up.
  const { createHash } = await import("node:crypto");
  const digest = createHash("sha256").update(id).digest("hex").slice(0, 16);
  return `env-${safe(source.key)}-${digest}`;
}

function fromVariable(
  variables: Readonly<Record<string, string | undefined>>,
  key: string,
): SessionId | undefined {
  const id = variables[key];
  return id === undefined || id === "" ? undefined : { id, source: { type: "env", key } };
}

/** Node has no `getsid`; Linux tells it in a file, behind the command's name in parentheses. */
function findSystemSession(): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const text = readFileSync("/proc/self/stat", "utf8");
    const sid = text.slice(text.lastIndexOf(")") + 2).split(" ")[3];
    return sid === undefined || sid === "0" ? undefined : sid;
  } catch {
    return undefined;
  }
}

function safe(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_]/g, "_");
}
