/** Loads the code for logins when it is needed: few users of MCP servers have one. */
import { loadModule } from "../../util/index.ts";
import type { Logins, LoginsOptions } from "./logins.ts";

export async function openLogins(options: LoginsOptions): Promise<Logins> {
  const loaded = await loadModule(() => import("./logins.ts"));
  return new loaded.Logins(options);
}

export const loadLogIn = () => loadModule(() => import("./log-in.ts"));
export const loadLogOut = () => loadModule(() => import("./log-out.ts"));
export const loadRedirect = () => loadModule(() => import("./redirect.ts"));
