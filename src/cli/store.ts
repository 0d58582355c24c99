/** The store a command works on: files, unless a flag, a variable or the user's own config names a database. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { type DatabaseOptions, userConfigFolder, type UserEnvironment } from "../stores/index.ts";
import { loadModule } from "../util/index.ts";
import { usageError } from "./exit-status.ts";

/** The keyword for no database. */
export const FILES = "files";

const CONFIG_FILES = ["toml", "json", "yaml", "yml"].map((ending) => `config.${ending}`);

/** Undefined for files. Throws `usage`, and config errors. */
export async function findDatabase(
  environment: UserEnvironment,
  flag: string | undefined,
): Promise<DatabaseOptions | undefined> {
  const { variables } = environment;
  const named = flag ?? (variables["JP_STORE"] === "" ? undefined : variables["JP_STORE"]);
  if (named === FILES) return undefined;
  if (named !== undefined && !isDatabase(named)) {
    throw usageError(
      `${flag === undefined ? "JP_STORE" : "--store"}: expected an address like postgres://ana@db.example.com/jp, or files.`,
    );
  }
  if (named === undefined && !mentionsStorage(environment)) return undefined;
  const { loadDatabase } = await loadModule(() => import("./load-database.ts"));
  return loadDatabase(environment, named);
}

function isDatabase(address: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(address) && URL.canParse(address);
}

/** Most users have no such config, and should not wait for it to be parsed. */
function mentionsStorage(environment: UserEnvironment): boolean {
  const folder = userConfigFolder(environment);
  return CONFIG_FILES.some((name) => {
    const file = path.join(folder, name);
    return existsSync(file) && readFileSync(file, "utf8").includes("storage");
  });
}
