/** The history of the prompt, from this session and earlier ones. Only this user can read the file. */
import { appendFile, chmod, readFile } from "node:fs/promises";
import path from "node:path";
import {
  makeFolder,
  type UserEnvironment,
  userDataFolder,
  writeDurably,
} from "../../../stores/index.ts";
import { findJson } from "../../../util/index.ts";

const MAX_ENTRIES = 1000;
/** Longer entries are kept for this session only. A paste of a few thousand lines still fits. */
const MAX_LENGTH = 200_000;
/** Limit for all entries together, so that the prompt opens at once. */
const MAX_TOTAL_LENGTH = 4_000_000;
const OWNER_ONLY = 0o600;

export class InputHistory {
  readonly #file: string;
  readonly #variables: UserEnvironment["variables"];
  #entries: readonly string[] = [];

  private constructor(environment: UserEnvironment) {
    this.#file = path.join(userDataFolder(environment), "input-history.jsonl");
    this.#variables = environment.variables;
  }

  /** Starts empty if the file cannot be read. */
  static async load(environment: UserEnvironment): Promise<InputHistory> {
    const history = new InputHistory(environment);
    await history.#load().catch(() => {});
    return history;
  }

  /** Oldest first. */
  get entries(): readonly string[] {
    return this.#entries;
  }

  /** Text that starts with a space or seems to contain a secret is kept for this session only. */
  async add(text: string): Promise<void> {
    if (text === this.#entries.at(-1)) return;
    this.#entries = [...this.#entries, text].slice(-MAX_ENTRIES);
    if (!mayBeStored(text, this.#variables)) return;
    try {
      await makeFolder(path.dirname(this.#file), 0o700);
      await appendFile(this.#file, `${JSON.stringify(text)}\n`, { mode: OWNER_ONLY });
    } catch {
      // Failing to save history must not end the session.
    }
  }

  async #load(): Promise<void> {
    const lines = (await readFile(this.#file, "utf8")).split("\n").filter(Boolean);
    const entries = lines
      .map((line) => findJson(line))
      .filter((entry) => typeof entry === "string");
    this.#entries = lastEntries(entries);
    await chmod(this.#file, OWNER_ONLY);
    const length = lines.reduce((sum, line) => sum + line.length, 0);
    if (lines.length <= MAX_ENTRIES * 2 && length <= MAX_TOTAL_LENGTH * 2) return;
    const kept = this.#entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
    await writeDurably(this.#file, Buffer.from(kept), OWNER_ONLY);
  }
}

/** The latest entries that fit the limits. */
function lastEntries(entries: readonly string[]): readonly string[] {
  let total = 0;
  const tooOld = entries.findLastIndex(({ length }) => (total += length) > MAX_TOTAL_LENGTH);
  return entries.slice(tooOld + 1).slice(-MAX_ENTRIES);
}

/** Not if it is long, starts with a space or seems to contain a secret. */
export function mayBeStored(text: string, variables: UserEnvironment["variables"]): boolean {
  return text.length <= MAX_LENGTH && !/^\s/.test(text) && !hasSecret(text, variables);
}

/** Prefixes of well-known keys, and private keys. */
const KEYS =
  /\b(?:sk-|sk_live_|rk_live_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza)[\w-]{12,}|PRIVATE KEY-----/;
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL/i;
const MIN_SECRET_LENGTH = 8;

function hasSecret(text: string, variables: UserEnvironment["variables"]): boolean {
  if (KEYS.test(text)) return true;
  return Object.entries(variables).some(
    ([name, value = ""]) =>
      SECRET_NAME.test(name) && value.length >= MIN_SECRET_LENGTH && text.includes(value),
  );
}
