/** `jp serve` in a process of its own, its page in a browser, and turns that wait for people. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, onTestFinished } from "vitest";
import {
  type ConversationEvent,
  type ConversationId,
  eventsOf,
  timestampFromDate,
} from "../../src/record/conversation/index.ts";
import { type ConversationStore, openWorkspace } from "../../src/stores/index.ts";
import { WAITING } from "../../src/stores/open-question.fixture.ts";
import { type Json, type JsonObject, systemClock } from "../../src/util/index.ts";
import {
  type QueryProjectOptions,
  type ScriptedTool,
  query,
  queryProject,
} from "../cli/query-project.ts";
import { JP, type Project } from "../cli/support.ts";
import { launchBrowser, type Look, NoBrowserError, openContext } from "./browser.ts";

/** Starts one browser for the tests of a file, which are skipped if this machine has none. */
export function useBrowser(): (look?: Look) => Promise<BrowserContext> {
  let browser: Browser | undefined;
  let problem: string | undefined;
  beforeAll(async () => {
    try {
      browser = await launchBrowser();
    } catch (error) {
      if (!(error instanceof NoBrowserError) || process.env["JP_REQUIRE_BROWSER"] === "1")
        throw error;
      problem = error.message;
      console.warn(problem);
    }
  }, 60_000);
  beforeEach(({ skip }) => skip(problem !== undefined, problem));
  afterAll(() => browser?.close());
  return async (look) => {
    if (browser === undefined) throw new Error("the browser was not started");
    const context = await openContext(browser, look);
    context.setDefaultTimeout(15_000);
    onTestFinished(() => context.close());
    return context;
  };
}

/** A running `jp serve`. It is killed when the test ends. */
export class DeskProcess {
  readonly #child: ChildProcess;
  /** The origin of the API, for programs. */
  readonly url: string;
  /** The address with the one-time login. */
  readonly login: string;

  private constructor(child: ChildProcess, { url, login }: { url: string; login: string }) {
    this.#child = child;
    this.url = url;
    this.login = login;
  }

  static async start(
    { root, variables }: Pick<Project, "root" | "variables">,
    ...flags: readonly string[]
  ): Promise<DeskProcess> {
    const child = spawn(process.execPath, [JP, "serve", "--format", "json", ...flags], {
      cwd: root,
      env: variables,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let notices = "";
    child.stderr.on("data", (data: Buffer) => {
      notices += data.toString();
    });
    const line = await Promise.race([
      once(createInterface(child.stdout), "line") as Promise<[string]>,
      once(child, "close").then((): [string] => {
        throw new Error(`jp serve has ended: ${notices}`);
      }),
    ]);
    return new DeskProcess(child, JSON.parse(line[0]) as { url: string; login: string });
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  /** The origin of the page. */
  get pageUrl(): string {
    return new URL(this.login).origin;
  }

  get port(): string {
    return new URL(this.url).port;
  }

  /** Without warning. Resolves when it has ended. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "close");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

/** The same, killed when the test ends. */
export async function startDesk(
  project: Project,
  ...flags: readonly string[]
): Promise<DeskProcess> {
  const desk = await DeskProcess.start(project, ...flags);
  onTestFinished(() => desk.kill());
  return desk;
}

/**
 * The page, with the owner logged in, or whoever has the token. The test fails if anything goes wrong in the page's
 * scripts.
 */
export async function openPage(
  context: BrowserContext,
  address: string,
  token?: string,
): Promise<Page> {
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", ({ message }) => problems.push(message));
  page.on("console", (entry) => {
    // The browser logs every response that is not a success.
    const isResponse = entry.text().startsWith("Failed to load resource");
    if (entry.type() === "error" && !isResponse) problems.push(entry.text());
  });
  onTestFinished(() => {
    if (problems.length > 0) throw new Error(problems.join("\n"));
  });
  await page.goto(address);
  if (token !== undefined) {
    await page.getByLabel("Your personal token").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
  }
  await page.getByText("Live").waitFor();
  return page;
}

/** A person's token. */
export async function addPerson(project: Project, name: string): Promise<string> {
  const { stdout } = await project.jp("serve", "people", "add", name);
  return stdout.trimEnd();
}

/** Runs a turn until it waits for people. */
export async function defer(options: QueryProjectOptions): Promise<Project> {
  const project = queryProject(options);
  const { status, stderr } = await query(project, ["--new", "--defer", "Go."]);
  if (status !== 4) throw new Error(`the turn does not wait: ${stderr}`);
  return project;
}

/** The workspace's conversations, as a process that is not the desk sees them. */
export function storeOf({ root, variables, home }: Project): ConversationStore {
  const environment = { variables, home, platform: process.platform };
  const options = { from: root, environment, clock: systemClock, pid: process.pid };
  return openWorkspace(options).conversations;
}

/** A conversation whose question, `a.q.1`, was asked now. */
export async function leaveQuestion(
  store: ConversationStore,
  text = "Go on?",
  timestamp = timestampFromDate(new Date()),
): Promise<ConversationId> {
  await using writer = await store.create({});
  const events = WAITING.map((event) => ({ ...event, timestamp }));
  const named = events.map((event) =>
    event.type === "inquiry_request" ? { ...event, question: { ...event.question, text } } : event,
  );
  await writer.append(...named);
  return writer.id;
}

/** A conversation with these events, which have happened now. */
export async function leave(
  store: ConversationStore,
  events: readonly ConversationEvent[],
  title?: string,
): Promise<ConversationId> {
  await using writer = await store.create(title === undefined ? {} : { title });
  const timestamp = timestampFromDate(new Date());
  await writer.append(...events.map((event) => ({ ...event, timestamp })));
  return writer.id;
}

/** The answers on record. */
export async function answersIn(store: ConversationStore, id: ConversationId) {
  const { stream } = await store.load(id);
  return [...eventsOf(stream.entries)].filter((event) => event.type === "inquiry_response");
}

/** The fragment of the address of a question, or of one that `leaveQuestion` has left. */
export function fragmentOf(conversation: string, id = "a.q.1"): string {
  return `#/inquiries/${conversation}/${encodeURIComponent(id)}`;
}

/** A question in the form that tools write, with its answer. */
export interface Sample {
  readonly question: JsonObject;
  readonly answer: Json;
}

/** One of each type. */
export const SAMPLES = {
  boolean: {
    question: {
      id: "sure",
      text: "Deploy **0.4.0**?",
      answer_type: { type: "boolean" },
      note: true,
      context: "It has been on staging for `2` days.\n\n- 14 commits\n- no migrations",
    },
    answer: true,
  },
  select: {
    question: {
      id: "region",
      text: "Which region first?",
      answer_type: {
        type: "select",
        options: [
          { value: "fra", description: "Frankfurt: 60 % of the traffic" },
          { value: "iad", description: "Virginia", preview: '{\n  "instances": 4\n}' },
        ],
        other: true,
      },
    },
    answer: "iad",
  },
  other: {
    question: {
      id: "channel",
      text: "Announce it where?",
      answer_type: { type: "select", options: ["mail", "blog"], other: true },
    },
    answer: "the wall",
  },
  multiple: {
    question: {
      id: "checks",
      text: "Which checks?",
      answer_type: {
        type: "select",
        // As of an MCP form, whose titles are descriptions too.
        options: ["unit", "load", { value: "smoke", title: "On fire?", description: "On fire?" }],
        multiple: true,
      },
    },
    answer: ["unit", "smoke"],
  },
  text: {
    question: { id: "title", text: "Title?", answer_type: { type: "text" } },
    answer: 'Two lines,\n"quoted" <b>& raw</b>',
  },
  diff: {
    question: {
      id: "apply",
      text: "Apply this change?",
      answer_type: { type: "boolean" },
      context:
        '--- a/app.ts\n+++ b/app.ts\n@@ -1,3 +1,3 @@\n import http from "node:http";\n-const port = 80;\n+const port = 8080;\n start(port);',
    },
    answer: false,
  },
} as const satisfies Record<string, Sample>;

/** Asked together. */
export const FORM: readonly Sample[] = [
  {
    question: { id: "size", text: "Size?", answer_type: { type: "select", options: ["S", "M"] } },
    answer: "M",
  },
  {
    question: { id: "gift", text: "Is it a gift?", answer_type: { type: "boolean" } },
    answer: true,
  },
  {
    question: { id: "greeting", text: "Greeting?", answer_type: { type: "text" } },
    answer: "Hello",
  },
];

/** A tool that asks all of the form at once. */
export const FORM_TOOL: ScriptedTool = {
  name: "order",
  program: `"size" in tool.answers ? JSON.stringify(tool.answers) : ${JSON.stringify(formOutput())}`,
};

function formOutput(): string {
  const [question, ...more] = FORM.map((sample) => sample.question);
  return JSON.stringify({ type: "needs_input", question, more });
}

/** One tool for each sample, the form, a call that needs permission, and a result that needs it. */
export const TOOLS: readonly ScriptedTool[] = [
  ...Object.entries(SAMPLES).map(([name, { question }]) => ({ name, questions: [question] })),
  FORM_TOOL,
  { name: "publish", program: '"published"', settings: 'run = "ask"' },
  { name: "report", program: '"the secret plan"', settings: 'run = "unattended"\nresult = "ask"' },
];
