/** `jp serve`: serves a page and an API for answering from a browser or a phone, until Ctrl-C. */
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
} from "node:fs";
import path from "node:path";
import { createSecureContext } from "node:tls";
import { type NotifySettings, resolveNotify } from "../../../settings/config/index.ts";
import {
  createDesk,
  type Desk,
  type DeskService,
  openSessions,
  openSharedSessions,
  type PageFile,
  type ResumeTurn,
  serveDesk,
  type Sessions,
} from "../../../surfaces/desk/index.ts";
import { createNotifier, type NotifierOptions } from "../../../surfaces/notify/index.ts";
import type { PeopleLogEntry } from "../../../settings/people/index.ts";
import {
  directoryOf,
  loadRecordingParts,
  peopleOf,
  warnWithheld,
} from "../../../assemble/index.ts";
import { makeFolder, userDataFolder } from "../../../stores/index.ts";
import {
  abortable,
  isLoopback,
  JpError,
  jsonLine,
  loadModule,
  messageOf,
  oneLine,
} from "../../../util/index.ts";
import { type CommandContext, untilSignal, warn } from "../../context.ts";
import type { Call } from "../../define.ts";
import { usageError } from "../../exit-status.ts";
import { wantsPlainText } from "../../host.ts";
import { trustedConfig } from "../../trust.ts";
import {
  type Everywhere,
  findCheckout,
  findStoredName,
  type FoundWorkspace,
  openEverywhere,
} from "../pending.ts";
import { isLocalName, parseOrigin } from "./origin.ts";
import { findOwner } from "./people.ts";
import { TurnRunner } from "./run-turns.ts";
import type { SERVE } from "./options.ts";
import type { FlagsOf } from "../../options.ts";

/** Throws `usage`, `no_workspace`, `not_built`, what `resolveNotify` and what `serveDesk` throws. */
export async function serve({ options, context }: Call<typeof SERVE>): Promise<void> {
  const { output, clock, host } = context;
  const address = readAddress(options, host.cwd);
  const page = readPage(host.dist);
  const onProblem = (problem: string) => warn(problem, output);
  const served = await findWorkspaces(options, context);
  const { workspaces } = served;
  const trusted = await trustedConfig(context, {});
  warnWithheld(trusted, context);
  const notify = resolveNotify(trusted.config);
  const owner = findOwner(trusted.config, context);
  using stop = untilSignal(context);
  using outputGone = untilOutputGone(context);
  await using runner = options.run === true ? new TurnRunner(context) : undefined;
  const directory = await directoryOf(context, trusted.config);
  await using desk = await createDesk(workspaces, {
    clock,
    directory,
    onProblem,
    findNew: served.findNew,
    ...(runner !== undefined && {
      resumeTurn: resumeWith(runner, workspaces),
      resumesAnswered: true,
    }),
  });
  let announce: Notifying["announce"] | undefined; // Needs the address, which is known later.
  const service = await serveDesk({
    ...address,
    desk,
    people: await peopleOf(context),
    directory,
    owner,
    sessions: await openStoredSessions(context, onProblem),
    // "all" includes new workspaces, so anyone who may see all of them may see those too.
    scope: options.all === true ? "all" : await scopeOf(workspaces, context),
    runs: runner !== undefined,
    page,
    clock,
    onProblem,
    audit: await openAudit(userDataFolder(context.environment), onProblem),
    onKeyChange: (change) => announce?.(change),
  });
  await using notifying = startNotifying(desk, {
    settings: notify,
    machine: { clock, onProblem, origin: service.url, cwd: context.cwd, ...context.environment },
  });
  announce = notifying.announce;
  void loadRecordingParts(); // An answer may take days to arrive.
  const stopped = AbortSignal.any([stop.signal, outputGone.signal]);
  await printLinks(service, { options, context }, { workspaces, stopped });
  await abortable(new Promise(() => undefined), stopped).catch(() => undefined);
  await Promise.all([service.close(), runner?.[Symbol.asyncDispose]()]);
}

async function openStoredSessions(
  { environment, findTenant }: CommandContext,
  onProblem: (problem: string) => void,
): Promise<Sessions> {
  const own = openSessions(userDataFolder(environment), onProblem);
  const tenant = await findTenant();
  return tenant === undefined ? own : openSharedSessions(tenant.sessions, own, onProblem);
}

/**
 * Shared by all desks that serve the workspace, wherever its clone is. The prefix keeps it distinct from a path and
 * from `all`.
 */
async function scopeOf(
  [first]: readonly FoundWorkspace[],
  context: CommandContext,
): Promise<string> {
  const { database, workspace } = context;
  if (database === undefined) return first?.root ?? "";
  return `workspace ${(await findStoredName(context, workspace)) ?? workspace.findId() ?? ""}`;
}

function untilOutputGone(context: CommandContext): Disposable & { readonly signal: AbortSignal } {
  const gone = new AbortController();
  const watch = context.onOutputGone(() => gone.abort());
  return { signal: gone.signal, [Symbol.dispose]: () => watch[Symbol.dispose]() };
}

function resumeWith(runner: TurnRunner, workspaces: readonly FoundWorkspace[]): ResumeTurn {
  return async (ref) => {
    const root = ref.workspace ?? workspaces[0]?.root;
    if (root === undefined) return { type: "refused", message: "No workspace is served." };
    return runner.resume(ref, root);
  };
}

interface NotifyingOptions {
  /** Undefined if notifications are off. */
  readonly settings: NotifySettings | undefined;
  readonly machine: NotifierOptions;
}

interface Notifying extends AsyncDisposable {
  /** Announces a change of someone's keys. */
  readonly announce: (change: PeopleLogEntry) => void;
}

/** Notifies people of pending decisions from now on. */
function startNotifying(desk: Desk, { settings, machine }: NotifyingOptions): Notifying {
  if (settings === undefined) {
    return { announce: () => undefined, [Symbol.asyncDispose]: async () => undefined };
  }
  const notifier = createNotifier(settings, machine);
  const subscription = desk.subscribe((event) => {
    if (event.type === "pending") notifier.notify([event.data]);
    if (event.type === "answered") notifier.withdraw(event.data);
  });
  return {
    announce: (change) => notifier.announce(change),
    [Symbol.asyncDispose]: async () => {
      subscription[Symbol.dispose]();
      await notifier.close();
    },
  };
}

/** Throws `no_workspace`, `usage`. */
async function findWorkspaces(
  { all: isEverywhere = false, run: isRunning = false }: FlagsOf<typeof SERVE>,
  context: CommandContext,
): Promise<Everywhere> {
  const { database, output } = context;
  const isOutside = database !== undefined && findCheckout(context) === undefined;
  if (isRunning && isOutside) throw noCheckoutError();
  if (isRunning && isEverywhere && database !== undefined) {
    throw usageError(
      "With a database, --run cannot be combined with --all: turns run in a clone of their workspace.",
      "Serve each workspace in its clone with --run, or all of them without.",
    );
  }
  if (isEverywhere) {
    const everywhere = await openEverywhere(context, (problem) => warn(problem, output));
    if (everywhere.workspaces.length > 0 || database !== undefined) return everywhere;
    throw new JpError("no_workspace", "jp knows no workspace on this machine yet.", {
      hint: "Create one with `jp init`, or start a conversation with `jp`.",
    });
  }
  const { conversations, root } = context.workspace;
  if (isOutside && database.workspace === undefined) throw unnamedError(root);
  const name = isOutside ? database.workspace : undefined;
  return {
    workspaces: [{ conversations, root: name ?? root }],
    findNew: async () => [],
  };
}

function noCheckoutError(): JpError {
  return usageError(
    "--run needs a clone of the workspace: that is where its turns run.",
    "Start jp serve there, or leave out --run: the desk then only takes answers.",
  );
}

function unnamedError(folder: string): JpError {
  return usageError(
    `${folder} is not a jp workspace, so jp does not know which one to serve from the database.`,
    "To serve all of them: jp serve --all. To serve one, set its name: storage.workspace in your own config, " +
      "or JP_CFG_STORAGE_WORKSPACE.",
  );
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
};

/** Reads all page files once, so that the server opens none. Throws `not_built`. */
function readPage(dist: string): ReadonlyMap<string, PageFile> {
  const folder = path.join(dist, "desk");
  const files = new Map<string, PageFile>();
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const type = MEDIA_TYPES[path.extname(name)];
    if (type === undefined) continue;
    const body = readFileSync(path.join(folder, name));
    files.set(name === "index.html" ? "/" : `/${name}`, { type, body });
  }
  if (files.has("/")) return files;
  throw new JpError("not_built", `The page is missing: ${folder} has no index.html.`, {
    hint: "Install jp again, or run `npm run build` in its clone.",
  });
}

const MAX_AUDIT_BYTES = 4 << 20;

/**
 * Logs logins and refusals, one JSON object per line, in a private file of the user. A full file replaces the
 * previous one, so repeated refusals cannot fill the disk.
 */
async function openAudit(
  folder: string,
  onProblem: (problem: string) => void,
): Promise<(line: string) => void> {
  const file = path.join(folder, "desk-audit.jsonl");
  await makeFolder(folder, 0o700);
  return (line) => {
    try {
      const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
      if (size > MAX_AUDIT_BYTES) renameSync(file, path.join(folder, "desk-audit.old.jsonl"));
      appendFileSync(file, `${line}\n`, { mode: 0o600 });
    } catch (error) {
      onProblem(`Cannot write ${file}: ${messageOf(error)}`);
    }
  };
}

interface Address {
  readonly host: string;
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly origin?: string;
}

/** Throws `usage` for any setup that would send input over the network unencrypted. */
function readAddress(options: FlagsOf<typeof SERVE>, cwd: string): Address {
  const { host, port = 0 } = options;
  const tls = readTls(options, cwd);
  const origin = options.origin === undefined ? undefined : parseOrigin(options.origin);
  const isSecure = tls !== undefined || origin?.startsWith("https:") === true;
  if (!isLoopback(host) && !isSecure) {
    throw usageError(
      `--host ${host} needs HTTPS: others on the network could read what you see and send.`,
      "Pass --tls-cert and --tls-key. If a proxy in front of jp serves HTTPS, pass its address: " +
        "--origin https://…",
    );
  }
  if (isWildcard(host) && origin === undefined) {
    throw usageError(
      `--host ${host} needs --origin: the address that people open.`,
      "For example: --port 8443 --origin https://my-machine.example:8443",
    );
  }
  return { host, port, ...(tls !== undefined && { tls }), ...(origin !== undefined && { origin }) };
}

function readTls(
  { tlsCert, tlsKey }: FlagsOf<typeof SERVE>,
  cwd: string,
): NonNullable<Address["tls"]> | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw usageError("Pass both --tls-cert and --tls-key, or neither.");
  }
  const [cert, key] = [readPem(tlsCert, cwd), readPem(tlsKey, cwd)];
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw usageError(
      `Cannot use ${tlsCert} with ${tlsKey}: ${messageOf(error)}.`,
      "jp needs a certificate and its private key, both in PEM, the key without a passphrase.",
    );
  }
  return { cert, key };
}

function readPem(file: string, cwd: string): string {
  try {
    return readFileSync(path.resolve(cwd, file), "utf8");
  } catch (error) {
    throw usageError(`Cannot read ${file}: ${messageOf(error)}.`);
  }
}

function isWildcard(host: string): boolean {
  return ["", "0.0.0.0", "::"].includes(host);
}

interface Served {
  readonly workspaces: readonly FoundWorkspace[];
  readonly stopped: AbortSignal;
}

/** Prints a login link, and a new one each time Enter is pressed. */
async function printLinks(
  service: DeskService,
  { options, context }: Pick<Call<typeof SERVE>, "options" | "context">,
  { workspaces, stopped }: Served,
): Promise<void> {
  const { output, host } = context;
  const { stdin } = host;
  const link = () => `${service.url}/#login=${service.createLogin()}`;
  if (options.format === "json") {
    return output.write(`${jsonLine({ url: service.apiUrl, login: link() })}\n`);
  }
  const printCode = await findQrPrinter(service.url, { options, context });
  const printLink = () => {
    const address = link();
    output.write(`${address}\n`);
    printCode?.(address);
  };
  const roots = workspaces.map(({ root }) => oneLine(root));
  const served = roots.length === 1 ? roots.join("") : `${roots.length} workspaces`;
  output.notice(`Serving ${served}. To log in, open this link; it works once:`);
  printLink();
  // Reading from the terminal would stop a process in the background, whose output is often redirected.
  const canPressEnter = stdin.isTTY === true && output.isTerminal;
  output.notice(`Press ${canPressEnter ? "Enter for another link, " : ""}Ctrl-C to stop.`);
  if (!canPressEnter) return;
  stdin.on("data", printLink);
  stopped.addEventListener("abort", () => stdin.destroy());
}

/**
 * Only on a terminal: anyone who reads a log could log in. Returns a function that prints a link's code, if wanted.
 */
async function findQrPrinter(
  url: string,
  { options: { qr }, context: { output, host } }: Pick<Call<typeof SERVE>, "options" | "context">,
): Promise<((link: string) => void) | undefined> {
  const isLocal = isLocalName(new URL(url).hostname);
  // Screen readers cannot use it.
  const isWanted = qr ?? (!isLocal && !wantsPlainText(host, {}));
  if (!isWanted) return undefined;
  if (!output.isTerminal) {
    if (qr === true) output.notice("No QR code: the output is not a terminal.");
    return undefined;
  }
  const { renderQrCode } = await loadModule(() => import("./qr-code.ts"));
  return (link) => {
    const rows = renderQrCode(link, { hasColors: output.hasColors, width: output.lineWidth });
    if (rows === undefined) return output.notice("No QR code: the terminal is too narrow for it.");
    output.write(`${rows.join("\n")}\n`);
    if (isLocal) output.notice("Only this machine can open the link, unless you tunnel its port.");
  };
}
