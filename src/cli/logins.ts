/** The user's logins to MCP servers, for commands. */
import { loginFolder, type Logins, type LoginState, openLogins } from "../reach/login/index.ts";
import { userDataFolder } from "../stores/index.ts";
import { localTime } from "../surfaces/render/index.ts";
import type { CommandContext } from "./context.ts";

export function openOwnLogins({ environment, clock }: CommandContext): Promise<Logins> {
  return openLogins({ folder: loginFolder(userDataFolder(environment)), clock });
}

/** Such as `logged in`, `logged in until 2026-01-02 15:04` and `login ended`. */
export function describeLogin({ expiresAt, isRenewed, hasEnded }: LoginState): string {
  if (hasEnded) return "login ended";
  if (isRenewed || expiresAt === undefined) return "logged in";
  return `logged in until ${localTime(new Date(expiresAt))}`;
}
