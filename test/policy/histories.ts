/**
 * Generates what people decide about calls over some weeks, to measure the rules that are proposed from it. Each person has a habit
 * per tool: some follow rules that no one else knows, and slip now and then; some decide as they please.
 */
import type { PastDecision } from "../../src/policy/propose.ts";
import type { JsonObject } from "../../src/util/index.ts";

export interface HistoryEntry extends PastDecision {
  /** Of the week, counted from 0. */
  readonly week: number;
  /** The person follows a rule here, and it says the same. */
  readonly isMeant: boolean;
  /** The person follows a rule here, and has said the opposite this time. */
  readonly isSlip: boolean;
}

export interface HistoryOptions {
  readonly seed: number;
  readonly decisions: number;
  readonly weeks: number;
  /** How often someone who follows a rule says the opposite. */
  readonly slips: number;
  /** How many of the tools someone decides about as they please. */
  readonly whims: number;
}

type Random = () => number;

/** Mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): Random {
  let state = seed;
  return () => {
    state = Math.trunc(state + 0x6d2b79f5);
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function pick<Of>(random: Random, items: readonly Of[]): Of {
  return items[Math.floor(random() * items.length)] as Of; // Never empty.
}

/** The first ones far more often than the last. */
function pickSkewed<Of>(random: Random, items: readonly Of[]): Of {
  return items[Math.floor(random() ** 3 * items.length)] as Of; // Never empty.
}

/** A tool, how its calls come about, and whether a person who follows a rule allows one. */
interface Habit {
  readonly tool: PastDecision["tool"];
  readonly kinds: PastDecision["kinds"];
  readonly isDestructive?: boolean;
  /** How often it is called. */
  readonly weight: number;
  readonly call: (random: Random) => JsonObject;
  readonly allows: (args: JsonObject) => boolean;
}

const TOP = ["src", "test", "docs", "lib", "scripts", "config", "infra"];
const MIDDLE = ["api", "ui", "core", "auth", "billing", "jobs", "util", "db", "mail", "search"];
const REFUSED_TOPS = ["config", "infra"];

function filesOf(random: Random): readonly string[] {
  return TOP.flatMap((top) =>
    [...MIDDLE].flatMap((middle) => {
      const count = 2 + Math.floor(random() * 12);
      return Array.from({ length: count }, (_, index) => `${top}/${middle}/file${index}.ts`);
    }),
  );
}

function shuffled<Of>(random: Random, items: readonly Of[]): readonly Of[] {
  return items
    .map((item) => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

function builtin(name: string): PastDecision["tool"] {
  return { name, source: { type: "builtin" } };
}

/** The habits of one person, each different from the next person's. */
function habitsOf(random: Random): readonly Habit[] {
  const files = shuffled(random, filesOf(random));
  const refusedFolders = [
    ...REFUSED_TOPS,
    ...shuffled(random, MIDDLE)
      .slice(0, 2)
      .map((middle) => `src/${middle}`),
  ];
  const isRefused = (file: string) =>
    refusedFolders.some((folder) => file.startsWith(`${folder}/`));
  const commands = COMMANDS.map((each) => ({ ...each, at: random() })).toSorted(
    (a, b) => a.at - b.at,
  );
  const hosts = shuffled(random, HOSTS);
  const refusedHosts = new Set(hosts.slice(-3));
  return [
    {
      tool: builtin("fs_modify_file"),
      kinds: { "/path": "path" },
      weight: 45,
      call: (next) => {
        // Now and then, a file where no one works for long.
        const path = next() < 0.03 ? pick(next, files) : pickSkewed(next, files);
        return { path, patterns: [{ old: String(next()), new: String(next()) }] };
      },
      allows: ({ path }) => !isRefused(String(path)),
    },
    {
      tool: builtin("fs_create_file"),
      kinds: { "/path": "path" },
      weight: 10,
      call: (next) => {
        const near = pickSkewed(next, files).replace(/file\d+/, `new${Math.floor(next() * 1000)}`);
        return { path: near, content: String(next()) };
      },
      allows: ({ path }) => !isRefused(String(path)),
    },
    {
      tool: builtin("fs_delete_file"),
      kinds: { "/path": "path" },
      isDestructive: true,
      weight: 2,
      call: (next) => ({ path: pick(next, files) }),
      allows: () => true,
    },
    {
      tool: builtin("shell_run"),
      kinds: { "/command": "command" },
      weight: 33,
      call: (next) => {
        const { words } = pickSkewed(next, commands);
        const file = pickSkewed(next, files);
        return {
          command: words.replace("FILE", file).replace("N", String(Math.floor(next() * 20))),
        };
      },
      allows: ({ command }) => {
        const known = COMMANDS.find(({ words }) =>
          String(command).startsWith(words.split(" FILE")[0]?.split(" N")[0] ?? words),
        );
        return known?.isHarmless ?? false;
      },
    },
    {
      tool: builtin("web_fetch"),
      kinds: { "/url": "url" },
      weight: 10,
      call: (next) => ({
        url: `https://${pickSkewed(next, hosts)}/page/${Math.floor(next() * 500)}`,
      }),
      allows: ({ url }) => !refusedHosts.has(new URL(String(url)).hostname),
    },
  ];
}

const COMMANDS: readonly { readonly words: string; readonly isHarmless: boolean }[] = [
  { words: "npm test", isHarmless: true },
  { words: "npm run lint", isHarmless: true },
  { words: "npm run build", isHarmless: true },
  { words: "npm test -- FILE", isHarmless: true },
  { words: "git status", isHarmless: true },
  { words: "git diff FILE", isHarmless: true },
  { words: "git log -n N", isHarmless: true },
  { words: "cargo check", isHarmless: true },
  { words: "wc -l FILE", isHarmless: true },
  { words: "tsc --noEmit", isHarmless: true },
  { words: "git commit -m N", isHarmless: true },
  { words: "git push origin", isHarmless: false },
  { words: "git reset --hard HEAD~N", isHarmless: false },
  { words: "npm publish --tag N", isHarmless: false },
  { words: "docker compose up", isHarmless: false },
];

const HOSTS = [
  "docs.example",
  "nodejs.example",
  "mdn.example",
  "registry.example",
  "wiki.example",
  "blog.example",
  "forum.example",
  "paste.example",
  "ads.example",
];

/** In the order of time. */
export function generateHistory(options: HistoryOptions): readonly HistoryEntry[] {
  const random = randomFrom(options.seed);
  const habits = habitsOf(random);
  const whims = new Set(shuffled(random, habits).slice(0, options.whims));
  const wheel = habits.flatMap((habit) => Array.from({ length: habit.weight }, () => habit));
  return Array.from({ length: options.decisions }, (_, index): HistoryEntry => {
    const habit = pick(random, wheel);
    const { tool, kinds, isDestructive = false } = habit;
    const args = habit.call(random);
    const week = Math.floor((index / options.decisions) * options.weeks);
    const base = { tool, kinds, isDestructive, arguments: args, week };
    if (whims.has(habit)) {
      return { ...base, isApproved: random() < 0.8, isMeant: false, isSlip: false };
    }
    const isAllowed = habit.allows(args);
    const isSlip = random() < options.slips;
    return { ...base, isApproved: isSlip ? !isAllowed : isAllowed, isMeant: !isSlip, isSlip };
  });
}
