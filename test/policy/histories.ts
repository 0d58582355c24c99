/**
 * Generates what people decide about calls over some weeks, to measure the rules that are proposed from it. A project has files,
 * and each week has a focus; people have habits of their own, which no rule has to be able to express. Some slip now and then, one
 * changes their mind, one follows no habit. It knows nothing of how rules are proposed.
 */
import { callOf, type ToolOptions } from "../../src/core/policy/call-of-tool.fixture.ts";
import type { CallOfTool } from "../../src/core/policy/index.ts";
import type { JsonObject } from "../../src/util/index.ts";

export interface HistoryEntry {
  readonly call: CallOfTool;
  readonly isApproved: boolean;
  /** Counted from 0. */
  readonly week: number;
  /** `meant`: as the person's habit says. `slip`: the opposite of it. `whim`: they have no habit here. */
  readonly why: "meant" | "slip" | "whim";
}

export interface Person {
  readonly name: string;
  /** How often they say the opposite of what they mean. */
  readonly slips: number;
  /** What they mean. Undefined if they decide as they please. `progress`: of the weeks, from 0 to 1. */
  readonly allows: (asked: Asked, progress: number) => boolean | undefined;
}

/** What a call is about. */
export type Asked =
  | { readonly type: "edit" | "delete"; readonly files: readonly string[] }
  | { readonly type: "command"; readonly line: string }
  | { readonly type: "page"; readonly host: string }
  | { readonly type: "deploy"; readonly target: string };

export interface HistoryOptions {
  readonly seed: number;
  readonly decisions: number;
  readonly weeks: number;
  readonly person: Person;
}

/** In the order of time. */
export function generateHistory(options: HistoryOptions): readonly HistoryEntry[] {
  const { person, decisions, weeks, seed } = options;
  const random = new Random(seed);
  const project = new Project(random);
  return Array.from({ length: decisions }, (_, index): HistoryEntry => {
    const progress = index / decisions;
    const week = Math.floor(progress * weeks);
    project.startWeek(week);
    let { call, asked } = nextCall(random, project);
    // A model that was refused something tries it less often.
    if (person.allows(asked, progress) === false && random.next() < HEEDED)
      ({ call, asked } = nextCall(random, project));
    const meant = person.allows(asked, progress);
    if (meant === undefined) return { call, week, isApproved: random.next() < 0.8, why: "whim" };
    const isSlip = random.next() < person.slips;
    return { call, week, isApproved: meant !== isSlip, why: isSlip ? "slip" : "meant" };
  });
}

/** People approve about 93 of 100 calls that they are asked about. Without this, it would be 88. */
const HEEDED = 0.6;

/** Mulberry32: small, and the same everywhere. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  next(): number {
    this.#state = Math.trunc(this.#state + 0x6d2b79f5);
    const state = this.#state;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  pick<Of>(items: readonly Of[]): Of {
    return items[this.below(items.length)] as Of; // Never empty.
  }

  /** The first ones far more often than the last. */
  pickEarly<Of>(items: readonly Of[]): Of {
    return items[Math.floor(this.next() ** 2 * items.length)] as Of; // Never empty.
  }

  weighted<Of extends { readonly weight: number }>(items: readonly Of[]): Of {
    let left = this.next() * items.reduce((sum, { weight }) => sum + weight, 0);
    return items.find(({ weight }) => (left -= weight) < 0) ?? (items[0] as Of); // Never empty.
  }

  shuffle<Of>(items: readonly Of[]): readonly Of[] {
    return items
      .map((item) => ({ item, at: this.next() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ item }) => item);
  }
}

const AREAS = ["api", "auth", "billing", "core", "jobs", "mail", "search", "ui", "util"];
const NAMES =
  "index types client server store parse format cache queue retry schema router handler model view state events errors limits tokens".split(
    " ",
  );

/** Files, which become more, and the few areas that people work on in a week. */
class Project {
  readonly #random: Random;
  readonly #files: string[];
  #week = -1;
  #focus: readonly string[] = [];

  constructor(random: Random) {
    this.#random = random;
    const code = AREAS.flatMap((area) => {
      const names = random.shuffle(NAMES).slice(0, 5 + random.below(10));
      const folder = area === "ui" ? "ui/components" : area;
      return names.flatMap((name) => {
        const isTested = random.next() < 0.6;
        return [`src/${folder}/${name}.ts`, ...(isTested ? [`test/${area}/${name}.test.ts`] : [])];
      });
    });
    this.#files = [...random.shuffle(code), ...OTHER_FILES];
  }

  startWeek(week: number): void {
    if (week === this.#week) return;
    this.#week = week;
    this.#focus = this.#random.shuffle(AREAS).slice(0, 3);
  }

  /** Three of four times one of the week's areas, otherwise any. */
  file(): string {
    const area = this.#random.pick(this.#focus);
    const isFocused = this.#random.next() < 0.75;
    const near = isFocused ? this.#files.filter((file) => file.includes(`/${area}/`)) : [];
    if (near.length > 0) return this.#random.pickEarly(near);
    return this.#random.next() < 0.5
      ? this.#random.pick(this.#files)
      : this.#random.pick(OTHER_FILES);
  }

  /** Beside another one. */
  newFile(): string {
    const beside = this.file();
    const name = `${this.#random.pick(NAMES)}-${this.#random.pick(NAMES)}`;
    const made = beside.includes("migrations/")
      ? `db/migrations/${String(100 + this.#random.below(900))}_${name}.sql`
      : beside.replace(/[^/]+?((?:\.test)?\.\w+)$/, `${name}$1`);
    this.#files.push(made);
    return made;
  }
}

const OTHER_FILES = [
  "README.md",
  "CHANGELOG.md",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  ".env",
  "docs/start.md",
  "docs/config.md",
  "docs/guide/deploy.md",
  "docs/guide/tests.md",
  "docs/guide/errors.md",
  "docs/api/v1.md",
  "docs/api/v2.md",
  "docs/faq.md",
  "scripts/build.mjs",
  "scripts/release.mjs",
  "scripts/seed.mjs",
  "scripts/lint.mjs",
  "config/dev.json",
  "config/prod.json",
  "config/.env.test",
  "src/core/.env.example",
  "db/schema.sql",
  "db/migrations/001_init.sql",
  "db/migrations/002_users.sql",
  "db/seed/users.sql",
  "infra/main.tf",
  "infra/network.tf",
  ".github/workflows/ci.yml",
];

const TOOLS = {
  modify: { name: "fs_modify_file", effect: "edits", argumentKinds: { "/path": "path" } },
  create: { name: "fs_create_file", effect: "edits", argumentKinds: { "/path": "path" } },
  edit: { name: "fs_edit", effect: "edits", argumentKinds: { "/files/path": "path" } },
  delete: { name: "fs_delete_file", effect: "destroys", argumentKinds: { "/path": "path" } },
  shell: { name: "shell_run", argumentKinds: { "/command": "command", "/folder": "path" } },
  page: { name: "web_fetch", argumentKinds: { "/url": "url" } },
  deploy: { name: "deploy", source: { origin: { type: "local", command: "./deploy" } } },
} as const satisfies Readonly<Record<string, ToolOptions>>;

const TEMPLATES = new Map(Object.entries(TOOLS).map(([name, tool]) => [name, callOf({}, tool)]));

function callTo(name: keyof typeof TOOLS, args: JsonObject): CallOfTool {
  const template = TEMPLATES.get(name) as CallOfTool; // One for each.
  return { ...template, arguments: args };
}

interface NextCall {
  readonly call: CallOfTool;
  readonly asked: Asked;
}

const CALLS: readonly {
  readonly weight: number;
  readonly next: (random: Random, project: Project) => NextCall;
}[] = [
  {
    weight: 38,
    next: (random, project) => {
      const file = project.file();
      const patterns = [{ old: String(random.next()), new: String(random.next()) }];
      return edit("modify", { path: file, patterns }, [file]);
    },
  },
  {
    weight: 9,
    next: (random, project) => {
      const file = project.newFile();
      return edit("create", { path: file, content: String(random.next()) }, [file]);
    },
  },
  {
    weight: 7,
    next: (random, project) => {
      const files = [...new Set([project.file(), project.file(), project.file()])];
      const content = String(random.next());
      return edit("edit", { files: files.map((file) => ({ path: file, content })) }, files);
    },
  },
  {
    weight: 34,
    next: (random, project) => {
      const line = random
        .weighted(COMMANDS)
        .line.replaceAll("FILE", () => project.file())
        .replaceAll("WORD", () => random.pick(NAMES))
        .replaceAll("N", () => String(random.below(20)));
      return { call: callTo("shell", { command: line }), asked: { type: "command", line } };
    },
  },
  {
    weight: 9,
    next: (random) => {
      const { host } = random.weighted(HOSTS);
      const url = `https://${host}/${random.pick(NAMES)}/${random.below(60)}`;
      return { call: callTo("page", { url }), asked: { type: "page", host } };
    },
  },
  {
    weight: 2,
    next: (random) => {
      const target = random.pickEarly(["staging", "production"]);
      return { call: callTo("deploy", { target }), asked: { type: "deploy", target } };
    },
  },
  {
    weight: 1,
    next: (_random, project) => {
      const file = project.file();
      const call = callTo("delete", { path: file });
      return { call, asked: { type: "delete", files: [file] } };
    },
  },
];

function nextCall(random: Random, project: Project): NextCall {
  return random.weighted(CALLS).next(random, project);
}

function edit(
  tool: "modify" | "create" | "edit",
  args: JsonObject,
  files: readonly string[],
): NextCall {
  return { call: callTo(tool, args), asked: { type: "edit", files } };
}

const COMMANDS: readonly { readonly line: string; readonly weight: number }[] = [
  { line: "npm test", weight: 14 },
  { line: "npm test -- FILE", weight: 10 },
  { line: "npm run lint", weight: 7 },
  { line: "npm run build", weight: 5 },
  { line: "npm run typecheck", weight: 5 },
  { line: "npm run lint && npm test", weight: 3 },
  { line: "npx vitest run FILE", weight: 4 },
  { line: "git status", weight: 8 },
  { line: "git diff", weight: 5 },
  { line: "git diff FILE", weight: 6 },
  { line: "git log -n N", weight: 4 },
  { line: "git log --oneline | head -n N", weight: 2 },
  { line: "git show HEAD~N", weight: 2 },
  { line: "git add FILE", weight: 3 },
  { line: "git commit -m WORD", weight: 3 },
  { line: "ls FILE", weight: 3 },
  { line: "cat FILE", weight: 4 },
  { line: "wc -l FILE", weight: 2 },
  { line: "grep -rn WORD src", weight: 4 },
  { line: "rg WORD", weight: 3 },
  { line: "sed -n 1,N0p FILE", weight: 2 },
  { line: "node scripts/build.mjs", weight: 2 },
  { line: "node -e 'console.log(N)'", weight: 1 },
  { line: "npm install WORD", weight: 1.5 },
  { line: "git push origin main", weight: 1.5 },
  { line: "git reset --hard HEAD~N", weight: 0.5 },
  { line: "rm -rf dist", weight: 1 },
  { line: "rm FILE", weight: 0.5 },
  { line: "curl -s https://WORD.example", weight: 0.5 },
  { line: "docker compose up", weight: 0.5 },
  { line: "npm publish", weight: 0.3 },
];

const HOSTS: readonly { readonly host: string; readonly weight: number }[] = [
  { host: "nodejs.example", weight: 10 },
  { host: "mdn.example", weight: 8 },
  { host: "typescript.example", weight: 6 },
  { host: "registry.example", weight: 4 },
  { host: "forge.example", weight: 5 },
  { host: "answers.example", weight: 3 },
  { host: "blog.example", weight: 1 },
  { host: "paste.example", weight: 0.7 },
  { host: "ads.example", weight: 0.3 },
];

const isOneOf = (line: string, starts: readonly string[]) =>
  starts.some((start) => line === start || line.startsWith(`${start} `));
const isIn = (file: string, folders: readonly string[]) =>
  folders.some((folder) => file.startsWith(`${folder}/`));
const isSensitive = (file: string) =>
  /(?:^|\/)\.env/.test(file) || file.includes("migrations/") || file.endsWith("package-lock.json");
const LOOKS = ["git status", "git diff", "git log", "git show", "ls", "cat", "wc", "grep", "rg"];
const CHECKS = ["npm test", "npm run", "npx vitest"];
const GRAVE = ["git push", "git reset", "rm", "curl", "docker", "npm publish"];
const partsOf = (line: string) =>
  line.split(/ && | \| /).filter((part) => !part.startsWith("head "));

function allowsLine(line: string, starts: readonly string[]): boolean {
  return partsOf(line).every((part) => isOneOf(part, starts));
}

/** Looks and checks; edits where code, tests and documentation are; pages of documentation. */
function isFineForStrict(asked: Asked): boolean {
  switch (asked.type) {
    case "edit":
      return asked.files.every((file) => isIn(file, ["src", "test", "docs"]) && !isSensitive(file));
    case "command":
      return allowsLine(asked.line, [...LOOKS, ...CHECKS, "sed"]);
    case "page":
      return ["nodejs.example", "mdn.example", "typescript.example"].includes(asked.host);
    default:
      return false;
  }
}

/** Everything but what is grave, secret, or of other people. */
function isFineForMost(asked: Asked): boolean {
  switch (asked.type) {
    case "edit":
      return asked.files.every((file) => !isSensitive(file) && !isIn(file, ["infra"]));
    case "command":
      return partsOf(asked.line).every((part) => !isOneOf(part, GRAVE));
    case "page":
      return !["paste.example", "ads.example"].includes(asked.host);
    case "deploy":
      return asked.target === "staging";
    default:
      return true;
  }
}

function isFineForRelaxed(asked: Asked): boolean {
  if (asked.type === "edit") return asked.files.every((file) => !/(?:^|\/)\.env/.test(file));
  if (asked.type === "command") return !isOneOf(asked.line, ["git push", "rm -rf", "npm publish"]);
  return true;
}

/** Not where money and passwords are. */
function isFineForCareful(asked: Asked): boolean {
  const isTheirs =
    asked.type !== "edit" || asked.files.every((file) => !/\/(?:auth|billing)\//.test(file));
  return isTheirs && isFineForMost(asked);
}

/** At first also scripts, and commits; later neither, but what others own. */
function isFineForChanging(asked: Asked, progress: number): boolean {
  if (progress < 0.5) return isFineForCareful(asked);
  const isGone =
    (asked.type === "edit" && asked.files.some((file) => isIn(file, ["scripts", "docs/api"]))) ||
    (asked.type === "command" && isOneOf(asked.line, ["git commit", "git add"]));
  return !isGone && isFineForMost(asked);
}

export const PEOPLE: readonly Person[] = [
  { name: "strict", slips: 0, allows: isFineForStrict },
  { name: "as most", slips: 0, allows: isFineForMost },
  { name: "relaxed", slips: 0, allows: isFineForRelaxed },
  { name: "careful with two areas", slips: 0, allows: isFineForCareful },
  { name: "as most, slips once in 200", slips: 0.005, allows: isFineForMost },
  { name: "as most, slips once in 100", slips: 0.01, allows: isFineForMost },
  { name: "careful, slips once in 50", slips: 0.02, allows: isFineForCareful },
  { name: "changes their mind half-way", slips: 0, allows: isFineForChanging },
  { name: "follows no rule", slips: 0, allows: () => undefined },
];
