/**
 * Stores the rules that a person granted at a prompt or adopted from proposals. They live outside the workspace, in one
 * file per workspace, tied to its real path: a clone elsewhere has none of them, even with the same id. The file is
 * read again when it has changed, so that removing a rule takes effect at once.
 */
import { readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import { findRule, type Rule, type RuleConfig } from "../../settings/config/index.ts";
import {
  type ConversationId,
  type DecidingRule,
  findTimestamp,
  type GrantScope,
  type Timestamp,
  timestampFromDate,
  timestampToMilliseconds,
  toolIdentities,
} from "../../record/conversation/index.ts";
import type { ArgumentKind, DescribeOptions } from "../../reach/executor/index.ts";
import { PrivateFile, securePrivateFolder, StorageError } from "../../stores/index.ts";
import { capabilitiesOf, type GrantLimits, type ToolSource } from "../../record/tool/index.ts";
import {
  arrayField,
  canonicalJson,
  type Clock,
  isJsonObject,
  type Json,
  type JsonObject,
  messageOf,
  parseJson,
  sha256,
  shapeOf,
  stringField,
} from "../../util/index.ts";
import { kindOf } from "./argument-values.ts";
import { limitRule, limitsFor, parseLimits } from "./grant-limits.ts";
import { scopeOf } from "./rule-scope.ts";
import type { CallOfTool, GrantToSave } from "./verdict.ts";

/** A stored rule. */
export interface SavedRule {
  readonly id: string;
  readonly tool: string;
  readonly rule: RuleConfig;
  /** The kind of its argument. */
  readonly kind?: ArgumentKind;
  /** The most that it lets run. Absent if it asks, or an older version saved it. */
  readonly limits?: GrantLimits;
  /** The tool's `toolIdentity` at that time. */
  readonly source: string;
  readonly created: Timestamp;
  readonly until: "always" | Timestamp;
  /** The name of the person, if known. */
  readonly by?: string;
  /** The conversation and the inquiry. */
  readonly inquiry: string;
  /** Accurate to a day. */
  readonly lastUsed?: Timestamp;
}

/** A saved rule, for display. */
export interface ListedRule extends SavedRule {
  readonly scope: GrantScope;
  readonly isExpired: boolean;
}

/** The rules of one workspace. */
export interface RulesOfWorkspace {
  /** Its real path. */
  readonly workspace: string;
  readonly rules: readonly ListedRule[];
}

/** A rule, and a call of its tool. */
export interface RuleToAdopt {
  readonly rule: RuleConfig;
  readonly call: CallOfTool;
  /** Absent for a rule that asks. */
  readonly limits?: GrantLimits | undefined;
}

export interface SavedRulesOptions {
  /** The user's folder, with a file for each workspace. It exists only if something was saved. */
  readonly folder: string;
  /** The workspace folder. */
  readonly root: string;
  readonly clock: Clock;
  /** Called if the file cannot be used. One line; must not throw. */
  readonly onWarning: (message: string) => void;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const ID_DIGITS = 8;
/** How many removed rules are remembered, so that no resumed turn saves them again. */
const MAX_REMOVED = 500;

/** The saved rules of one workspace. */
export class SavedRules {
  readonly #options: SavedRulesOptions;
  readonly #used = new Set<string>();
  #opened: OpenFile | undefined;

  constructor(options: SavedRulesOptions) {
    this.#options = options;
  }

  /**
   * The rules for the tool that apply now, newest first, since the latest grant wins. None if the file cannot be used;
   * the user is warned once. Never throws.
   */
  async find(call: CallOfTool): Promise<readonly Rule[]> {
    const { name } = call.tool.settings;
    const now = this.#options.clock.now();
    const { rules, digest } = this.#read();
    const known = rules.filter((rule) => rule.tool === name && !isExpired(rule, now));
    if (known.length === 0) return [];
    const source = await call.tool.describeSource(call.arguments);
    const [identities, asked] = [identitiesIn(call, source), capabilitiesOf(source)];
    const { file: layer } = this.#open();
    const place = { from: "saved", layer, ...(digest !== undefined && { file: digest }) } as const;
    return known
      .filter((each) => identities.includes(each.source))
      .toReversed()
      .flatMap(({ id, rule, limits }) => {
        const placed: Rule = { ...rule, place: { ...place, key: id } };
        return limitRule({ rule: placed, limits }, asked) ?? [];
      });
  }

  /** All rules of the workspace, including expired ones, in the order they were saved. */
  list(): RulesOfWorkspace {
    const { root, clock } = this.#options;
    const now = clock.now();
    return {
      workspace: realRoot(root),
      rules: this.#read().rules.map((rule) => toListed(rule, now)),
    };
  }

  #read(): { readonly rules: readonly SavedRule[]; readonly digest?: string | undefined } {
    try {
      const { entries, digest } = this.#open().reader.read();
      return { rules: entries.flatMap(({ saved }) => saved ?? []), digest };
    } catch (error) {
      this.#options.onWarning(messageOf(error)); // The folder belongs to another user, for example.
      return { rules: [] };
    }
  }

  /** Does nothing if the same rule was saved before, even if it was removed since. Throws `write_failed`. */
  async save({ rule: written, until, call, shown, by, inquiry }: GrantToSave): Promise<void> {
    const rule = findRule(written);
    if (rule === undefined || until === "turn") return;
    const { name: tool } = call.tool.settings;
    const kind = kindOf(rule, call.tool.argumentKinds ?? {});
    const saved: SavedRule = {
      id: sha256(`${tool}\0${inquiry}`).slice(0, ID_DIGITS),
      tool,
      rule,
      ...(kind !== undefined && { kind }),
      limits: await limitsFor(rule, call, shown),
      source: await identityOf(call),
      created: timestampFromDate(this.#options.clock.now()),
      until,
      ...(by.name !== undefined && { by: by.name }),
      inquiry,
    };
    await this.#change(({ entries, removed, ...others }) =>
      removed.includes(saved.id) || entries.some((entry) => entry.saved?.id === saved.id)
        ? undefined
        : { ...others, removed, entries: [...entries, { raw: toJson(saved), saved }] },
    );
  }

  /**
   * Saves proposed rules permanently. Rules that ask count as the newest, and rules that let calls run as the oldest:
   * they apply only if no other rule does. Returns how many were new. Throws `write_failed`.
   */
  async adopt(proposed: readonly RuleToAdopt[]): Promise<number> {
    const created = timestampFromDate(this.#options.clock.now());
    const adopted = await Promise.all(
      proposed.map(async ({ rule, call, limits }): Promise<SavedRule> => {
        const { name: tool } = call.tool.settings;
        const kind = kindOf(rule, call.tool.argumentKinds ?? {});
        const source = await identityOf(call);
        const written = canonicalJson(rule as unknown as JsonObject); // As it was proposed: JSON.
        const limited = limits === undefined ? "" : canonicalJson({ ...limits });
        return {
          id: sha256(`${tool}\0${source}\0${written}${limited}`).slice(0, ID_DIGITS),
          tool,
          rule,
          ...(kind !== undefined && { kind }),
          ...(limits !== undefined && { limits }),
          source,
          created,
          until: "always",
          inquiry: "",
        };
      }),
    );
    let count = 0;
    await this.#change(({ entries, removed, ...others }) => {
      const added = adopted
        .filter(({ id }) => !entries.some(({ saved }) => saved?.id === id))
        .map((saved) => ({ raw: toJson(saved), saved }));
      const [asking, allowing] = [
        added.filter(({ saved }) => saved.rule.mode === "ask"),
        added.filter(({ saved }) => saved.rule.mode !== "ask"),
      ];
      count = added.length;
      const ids = new Set(added.map(({ saved }) => saved.id));
      return {
        ...others,
        entries: [...allowing, ...entries, ...asking],
        removed: removed.filter((id) => !ids.has(id)),
      };
    });
    return count;
  }

  /** Returns the removed rules. Throws `write_failed`. */
  async remove(isRemoved: (rule: SavedRule) => boolean): Promise<readonly SavedRule[]> {
    if (!this.#read().rules.some(isRemoved)) return [];
    let gone: readonly SavedRule[] = [];
    await this.#change(({ entries, removed, ...others }) => {
      gone = entries.flatMap(({ saved }) => (saved && isRemoved(saved) ? [saved] : []));
      const ids = gone.map(({ id }) => id);
      return {
        ...others,
        entries: entries.filter(({ saved }) => saved === undefined || !ids.includes(saved.id)),
        removed: [...removed, ...ids].slice(-MAX_REMOVED),
      };
    });
    return gone;
  }

  /** Saved by `close`. */
  noteUsed(rules: readonly DecidingRule[]): void {
    for (const { from, key } of rules) if (from === "saved") this.#used.add(key);
  }

  /** Records which rules were used, at most once a day each. Never throws: nothing depends on it. */
  async close(): Promise<void> {
    if (this.#used.size === 0) return;
    const now = this.#options.clock.now();
    const isNoted = ({ id, lastUsed }: SavedRule) => {
      const age =
        lastUsed === undefined ? DAY_MS : now.getTime() - timestampToMilliseconds(lastUsed);
      return this.#used.has(id) && age >= DAY_MS;
    };
    if (!this.#read().rules.some(isNoted)) return;
    const lastUsed = timestampFromDate(now);
    const change = ({ entries, ...others }: Stored): Stored => ({
      ...others,
      entries: entries.map((entry) =>
        entry.saved !== undefined && isNoted(entry.saved)
          ? {
              raw: { ...entry.raw, last_used: lastUsed },
              saved: { ...entry.saved, lastUsed },
            }
          : entry,
      ),
    });
    await this.#change(change).catch(() => undefined);
    this.#used.clear();
  }

  async #change(change: (stored: Stored) => Stored | undefined): Promise<void> {
    const { folder, writer } = this.#open();
    await writer.change(change);
    securePrivateFolder(folder);
  }

  /** Throws `read_failed` if the folder belongs to another user. */
  #open(): OpenFile {
    const { folder, root, onWarning } = this.#options;
    securePrivateFolder(folder);
    this.#opened ??= openFile(folder, realRoot(root), onWarning);
    return this.#opened;
  }
}

/** The rules of all workspaces. Never throws. */
export function listAllSavedRules(
  options: Omit<SavedRulesOptions, "root">,
): readonly RulesOfWorkspace[] {
  const { folder } = options;
  const now = options.clock.now();
  let names: readonly string[];
  try {
    securePrivateFolder(folder);
    names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  } catch {
    return [];
  }
  return names.toSorted().flatMap((name) => {
    const { entries, workspace } = fileIn(path.join(folder, name), "", options.onWarning).read();
    const rules = entries.flatMap(({ saved }) => (saved ? [toListed(saved, now)] : []));
    // A misnamed file applies to no workspace.
    return rules.length > 0 && name === nameOf(workspace) ? [{ workspace, rules }] : [];
  });
}

function isExpired({ until }: SavedRule, now: Date): boolean {
  return until !== "always" && timestampToMilliseconds(until) <= now.getTime();
}

function toListed(saved: SavedRule, now: Date): ListedRule {
  const { rule, kind, limits } = saved;
  return { ...saved, scope: scopeOf(rule, kind, limits), isExpired: isExpired(saved, now) };
}

/** For a workspace that is gone, the path it had. */
function realRoot(root: string): string {
  try {
    return realpathSync(root);
  } catch {
    return path.resolve(root);
  }
}

async function identityOf(call: CallOfTool): Promise<string> {
  const [identity = ""] = await identitiesOf(call);
  return identity;
}

/** The identities of a call's tool, the current one first: see `toolIdentities`. Saved rules are for this machine. */
export async function identitiesOf(
  call: CallOfTool,
  options?: DescribeOptions,
): Promise<readonly string[]> {
  return identitiesIn(call, await call.tool.describeSource(call.arguments, options));
}

function identitiesIn(
  { tool, arguments: args }: CallOfTool,
  source: ToolSource,
): readonly string[] {
  const conversation = "" as ConversationId; // Which call it is does not matter here.
  const call = { conversation, toolCallId: "", tool: tool.settings.name, source, arguments: args };
  return toolIdentities(call);
}

interface OpenFile {
  readonly folder: string;
  readonly file: string;
  readonly reader: PrivateFile<Stored>;
  readonly writer: PrivateFile<Stored>;
}

/** The content of the file. A rule from a newer version is kept unchanged, and does not apply. */
interface Stored {
  readonly workspace: string;
  readonly entries: readonly StoredEntry[];
  readonly removed: readonly string[];
  /** The SHA-256 of the file that this was read from. */
  readonly digest?: string;
}

type StoredEntry =
  | { readonly raw: JsonObject; readonly saved: SavedRule }
  | { readonly raw: Json; readonly saved?: undefined };

function openFile(
  folder: string,
  root: string,
  onWarning: SavedRulesOptions["onWarning"],
): OpenFile {
  const file = path.join(folder, nameOf(root));
  const writer = fileIn(file, root, (message) => {
    throw new StorageError("write_failed", message, { hint: `Correct it, or delete it: ${file}` });
  });
  return { folder, file, reader: fileIn(file, root, onWarning), writer };
}

function nameOf(root: string): string {
  return `${sha256(root)}.json`;
}

/** `root`: the workspace that the file must belong to; empty for any. */
function fileIn(
  file: string,
  root: string,
  onWarning: SavedRulesOptions["onWarning"],
): PrivateFile<Stored> {
  const empty: Stored = { workspace: root, entries: [], removed: [] };
  return new PrivateFile<Stored>(file, {
    empty,
    parse: (text) => {
      const stored = parseStored(text);
      if (root !== "" && stored.workspace !== root) throw new Error("it is of another workspace");
      return stored;
    },
    format: ({ workspace, entries, removed }) =>
      `${JSON.stringify({ workspace, rules: entries.map(({ raw }) => raw), removed }, null, 2)}\n`,
    onInvalid: (_, error) => {
      onWarning(`The saved permissions in ${file} are not used: ${messageOf(error)}`);
      return empty;
    },
  });
}

function parseStored(text: string): Stored {
  const shape = shapeOf(parseJson(text));
  const { removed } = shape.value;
  return {
    workspace: stringField(shape, "workspace"),
    entries: arrayField(shape, "rules").map(toEntry),
    removed: Array.isArray(removed) ? removed.filter((id) => typeof id === "string") : [],
    digest: sha256(text),
  };
}

function toEntry(raw: Json): StoredEntry {
  const saved = findSaved(raw);
  return isJsonObject(raw) && saved !== undefined ? { raw, saved } : { raw };
}

const KNOWN_KEYS: ReadonlySet<string> = new Set([
  "id",
  "tool",
  "rule",
  "kind",
  "limits",
  "source",
  "created",
  "until",
  "by",
  "inquiry",
  "last_used",
]);

/** Undefined if any field is unknown: a newer version may have narrowed the rule. */
function findSaved(raw: Json): SavedRule | undefined {
  if (!isJsonObject(raw) || Object.keys(raw).some((key) => !KNOWN_KEYS.has(key))) return undefined;
  const { id, tool, kind, source, by, inquiry } = raw;
  const rule = findRule(raw["rule"]);
  const created = findTimestamp(raw["created"]);
  const until = raw["until"] === "always" ? "always" : findTimestamp(raw["until"]);
  const lastUsed = findTimestamp(raw["last_used"]);
  if (typeof id !== "string" || typeof tool !== "string" || typeof source !== "string") {
    return undefined;
  }
  const isKnown = rule?.mode === "unattended" || rule?.mode === "ask";
  const limits = parseLimits(raw["limits"]);
  if (raw["limits"] !== undefined && limits === undefined) return undefined;
  if (!isKnown || created === undefined || until === undefined) return undefined;
  const known = KINDS.find((each) => each === kind);
  return {
    id,
    tool,
    rule,
    ...(known !== undefined && { kind: known }),
    ...(limits !== undefined && { limits }),
    source,
    created,
    until,
    ...(typeof by === "string" && { by }),
    inquiry: typeof inquiry === "string" ? inquiry : "",
    ...(lastUsed !== undefined && { lastUsed }),
  };
}

const KINDS = ["path", "command", "input", "url"] as const satisfies readonly ArgumentKind[];

function toJson({ lastUsed, rule, limits, ...saved }: SavedRule): JsonObject {
  return {
    ...saved,
    ...(limits !== undefined && { limits: { ...limits } }),
    rule: rule as unknown as JsonObject, // As it was granted: JSON.
    ...(lastUsed !== undefined && { last_used: lastUsed }),
  };
}
