/** Where the user's own config is. */
import path from "node:path";
import type { UserEnvironment } from "../stores/index.ts";

export function userConfigFolder({ variables, home, platform }: UserEnvironment): string {
  const own = variables["JP_GLOBAL_CONFIG_DIR"];
  if (own !== undefined && own !== "") return own;
  const xdg = variables["XDG_CONFIG_HOME"];
  if (xdg !== undefined && path.isAbsolute(xdg)) return path.join(xdg, "jp");
  if (platform === "darwin") return path.join(home, "Library", "Application Support", "jp");
  if (platform === "win32") return path.join(home, "AppData", "Roaming", "jp");
  return path.join(home, ".config", "jp");
}
