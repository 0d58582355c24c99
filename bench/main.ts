/** `npm run bench`: measures, and prints a table. `npm run bench -- --help` lists the flags. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { findRegressions, readBaseline, type Regression, storeBaseline } from "./baseline.ts";
import { measureCache } from "./cache.ts";
import { list, pending, print, search, start } from "./commands.ts";
import { desk } from "./desk.ts";
import { deskLoad } from "./desk-load.ts";
import { deskPage } from "./desk-page.ts";
import { fleetInbox } from "./fleet/inbox.ts";
import { fleetKills } from "./fleet/kills.ts";
import { fleetLoad } from "./fleet/load.ts";
import { fleetOpen } from "./fleet/open.ts";
import { heavy } from "./heavy.ts";
import { inquiry } from "./inquiry.ts";
import { keptQuestion } from "./kept-question.ts";
import { type Bench, formatMs, type Result, type StoredResult } from "./measure.ts";
import { coldResume, deferred, libraryImport, waitingTurns } from "./library.ts";
import { installed } from "./package.ts";
import { BESIDE_PEERS, measurePeers, readPeers } from "./peers.ts";
import { queryLong, queryStart, streaming } from "./query.ts";
import { question } from "./question.ts";
import { resume } from "./resume.ts";
import { searchFiles } from "./search-files.ts";
import { session } from "./session.ts";
import { stampNow } from "./stamp.ts";
import { measureStart } from "./start-table.ts";
import { asMarkdown, asText, peerTable, resultTable } from "./table.ts";
import { inFolder } from "./workspace.ts";

const HELP = `Usage: npm run bench -- [options]

Measure jp, and print each result next to its goal.

  --small          Run every bench once on little data, also those of --load: fails if one does not work
  --only <text>    Measure only the rows whose name contains the text
  --load           Also measure large amounts of data (minutes, and a gigabyte of disk)
  --fleet          Measure workers on a PostgreSQL server instead, and kill them (minutes)
  --compare        Fail if a result is worse than the baseline by more than noise explains
  --store          Save the results as the new baseline
  --format <name>  Print a text (default), json or markdown table
  --show           Print the stored results of earlier runs instead of measuring
  --start-table    Print where the time of jp query goes until its request leaves
  --write-docs     Write the stored results, or the table of the start, to docs/project/performance.md
  --peers          Install and measure other packages, and jp beside them (needs the network; with --only, only some)
  --cache <model>  Ask a real model questions in a turn, and print what its server reads again:
                   provider/name, at --url (default: the provider's), with --tokens of conversation
                   (default: 10000) and --questions (default: 5)
  -h, --help       Print this help
`;

const standard: readonly Bench[] = [
  queryStart,
  list,
  pending,
  queryLong,
  installed,
  start,
  session,
  search,
  question,
  keptQuestion,
  resume,
  inquiry,
  streaming,
  deskPage,
  libraryImport,
  deferred,
  coldResume,
  waitingTurns,
];
const fleet: readonly Bench[] = [fleetLoad, fleetInbox, fleetOpen, fleetKills];
const load: readonly Bench[] = [print, searchFiles, desk, deskLoad, ...heavy];
const ROWS = [...standard, ...load, ...fleet].flatMap(({ rows }) => rows);
const RESULTS = path.join(import.meta.dirname, "results", "latest.json");
const DOCUMENT = path.join(import.meta.dirname, "..", "docs", "project", "performance.md");
const FORMATS = ["text", "json", "markdown"];

const { values: flags } = parseArgs({
  options: {
    only: { type: "string" },
    small: { type: "boolean", default: false },
    load: { type: "boolean", default: false },
    fleet: { type: "boolean", default: false },
    compare: { type: "boolean", default: false },
    store: { type: "boolean", default: false },
    format: { type: "string", default: "text" },
    show: { type: "boolean", default: false },
    "start-table": { type: "boolean", default: false },
    "write-docs": { type: "boolean", default: false },
    peers: { type: "boolean", default: false },
    cache: { type: "string" },
    url: { type: "string" },
    tokens: { type: "string", default: "10000" },
    questions: { type: "string", default: "5" },
    help: { type: "boolean", short: "h", default: false },
  },
});

if (flags.help) process.stdout.write(HELP);
else if (!FORMATS.includes(flags.format)) fail(`--format must be one of ${FORMATS.join(", ")}.`);
else if (flags.cache !== undefined) await printCache(flags.cache);
else if (flags.peers) await measureBesidePeers();
else if (flags["start-table"]) await printStart();
else if (flags["write-docs"]) writeResultTables();
else if (flags.show) console.log(formatted(readResults().filter(({ name }) => isWanted(name))));
else await measureAll();

async function printCache(model: string): Promise<void> {
  const [tokens, questions] = [Number(flags.tokens), Number(flags.questions)];
  if (!(tokens >= 0 && questions >= 0)) return fail("--tokens and --questions must be numbers.");
  try {
    const table = await measureCache({
      model,
      ...(flags.url !== undefined && { baseUrl: flags.url }),
      tokens,
      questions,
    });
    console.log(flags.format === "markdown" ? asMarkdown(table) : asText(table));
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  }
}

async function measureAll(): Promise<void> {
  const benches = findBenches().filter(isChosen);
  if (benches.length === 0) return fail("No row has this text in its name.");
  if (flags.small) return await tryAll(benches);
  const results: StoredResult[] = [];
  const regressions: Regression[] = [];
  for (const [index, bench] of benches.entries()) {
    progress(`[${index + 1}/${benches.length}] ${bench.rows.filter(isWanted).join("; ")}`);
    const found = stamped(await measure(bench));
    results.push(...found);
    writeResults(found); // Saved now, because a later one may fail after minutes.
    if (flags.compare) regressions.push(...(await confirmed(bench, found)));
  }
  if (flags.store) storeBaseline(results, ROWS);
  console.log(formatted(results));
  for (const { name, reason } of regressions) progress(`worse: ${name}: ${reason}`);
  if (regressions.length > 0) process.exitCode = 1;
}

function findBenches(): readonly Bench[] {
  if (flags.small) return [...standard, ...load, ...fleet];
  if (flags.fleet) return fleet;
  return flags.load ? [...standard, ...load] : standard;
}

async function measureBesidePeers(): Promise<void> {
  for (const bench of BESIDE_PEERS.filter(isChosen)) {
    for (const row of bench.rows) progress(`Measuring ${row} …`);
    writeResults(stamped(await measure(bench)));
  }
  await measurePeers(isWanted, progress);
}

/** The figures mean nothing: there is too little data. */
async function tryAll(benches: readonly Bench[]): Promise<void> {
  for (const bench of benches) {
    const begun = performance.now();
    const results = await measure(bench);
    const [row] = bench.rows;
    const outcome =
      results.length > 0 ? formatMs(performance.now() - begun) : "not on this machine";
    progress(`${outcome}: ${row}`);
  }
  if (flags.only === undefined) await measureStart();
}

async function measure({ rows, run }: Bench): Promise<readonly Result[]> {
  const results = await inFolder(run);
  const missing = rows.find((row, index) => results[index]?.name !== row);
  // A bench that this machine cannot run, for example without a browser, has no results.
  if (missing !== undefined && results.length > 0)
    throw new Error(`The result "${missing}" is missing.`);
  return results.filter(({ name }) => isWanted(name));
}

function stamped(results: readonly Result[]): readonly StoredResult[] {
  const stamp = stampNow();
  return results.map((result) => ({ ...result, ...stamp }));
}

/** Measures an apparent regression again: it counts only if it is worse both times. */
async function confirmed(bench: Bench, found: readonly Result[]): Promise<readonly Regression[]> {
  const baseline = readBaseline();
  const suspects = findRegressions(found, baseline);
  if (!suspects.some(({ name }) => name in baseline)) return suspects; // None, or only new ones.
  progress(`Measuring again: ${[...new Set(suspects.map(({ name }) => name))].join("; ")}`);
  const again = findRegressions(await measure(bench), baseline);
  return again.filter(({ name }) => suspects.some((suspect) => suspect.name === name));
}

function isChosen({ rows }: Bench): boolean {
  return rows.some(isWanted);
}

function isWanted(row: string): boolean {
  return row.toLowerCase().includes(flags.only?.toLowerCase() ?? "");
}

function formatted(results: readonly StoredResult[]): string {
  if (flags.format === "json") return JSON.stringify(results, null, 2);
  const format = flags.format === "markdown" ? asMarkdown : asText;
  const table = format(resultTable(results));
  const peers = readPeers();
  const beside = peerTable(peers, results);
  if (beside.length === 1) return table; // Only the header.
  return `${table}\n\nOther packages, on ${peers.machine}:\n\n${format(beside)}`;
}

async function printStart(): Promise<void> {
  const { title, table } = await measureStart();
  console.log(`${title}\n\n${flags.format === "markdown" ? asMarkdown(table) : asText(table)}`);
  if (flags["write-docs"]) writeDocument({ start: `${title}\n\n${asMarkdown(table)}` });
}

function writeResultTables(): void {
  const results = readResults();
  writeDocument({
    results: asMarkdown(resultTable(results)),
    peers: asMarkdown(peerTable(readPeers(), results)),
  });
}

/** Replaces the text between the markers. */
function writeDocument(parts: Readonly<Record<string, string>>): void {
  let text = readFileSync(DOCUMENT, "utf8");
  for (const [name, part] of Object.entries(parts)) {
    const [open, close] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
    const [from, to] = [text.indexOf(open) + open.length, text.indexOf(close)];
    if (to === -1) throw new Error(`The document has no ${close}.`);
    text = `${text.slice(0, from)}\n\n${part}\n\n${text.slice(to)}`;
  }
  writeFileSync(DOCUMENT, text);
}

/** In the order of the benches. */
function readResults(): readonly StoredResult[] {
  if (!existsSync(RESULTS)) return [];
  const stored = JSON.parse(readFileSync(RESULTS, "utf8")) as readonly StoredResult[]; // Written below.
  // Earlier versions stored no commit.
  const known = stored.filter(({ commit }: Partial<StoredResult>) => commit !== undefined);
  return ROWS.flatMap((row) => known.find(({ name }) => name === row) ?? []);
}

/** Replaces stored results of the same name. */
function writeResults(results: readonly StoredResult[]): void {
  const isOld = ({ name }: StoredResult) => !results.some((result) => result.name === name);
  const all = [...readResults().filter(isOld), ...results];
  mkdirSync(path.dirname(RESULTS), { recursive: true });
  writeFileSync(RESULTS, `${JSON.stringify(all, null, 2)}\n`);
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

function fail(reason: string): void {
  progress(reason);
  process.exitCode = 2;
}
