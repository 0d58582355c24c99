/** Uses the larger examples as their users would: from a clone, and from the package in another project. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, copyFileSync, existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import type { JsonObject } from "../../src/util/index.ts";

/** What the chat bot prints. */
const CALL = '{"tool":"deploy","origin":{"type":"program"},"arguments":{}}';

export const CHAT_BOT = [
  "permission by user ada (chat)",
  "answer by user bob (chat)",
  'no answer: "timed_out"',
  "#releases eve: Deploy the site.",
  `#releases bot: assistant: Run deploy? ${CALL} [yes] [no]`,
  "#releases ada: yes",
  "#releases bot: deploy: Where to? [test] [live]",
  "#releases bob: test",
  `#releases bot: deploy: Is it reviewed? ${CALL} [yes] [no]`,
  "#releases bot: The tool 'deploy' needed an answer, and there was none before the deadline. The user did not " +
    "reject the call. Do not retry it in this turn; continue without it or explain what is missing.",
];

const ANNOUNCE = '\n[[answers]]\ntool = "deploy"\nquestion = "announce"\nanswer = true\n';

/** Two nights, and someone who adds an answer to the file in between. */
export async function runNightlyJob(folder: string) {
  const cwd = temporaryFolder();
  copyFileSync(path.join(folder, "answers.toml"), path.join(cwd, "answers.toml"));
  const first = await runNode(path.join(folder, "job.ts"), cwd);
  appendFileSync(path.join(cwd, "answers.toml"), ANNOUNCE);
  return { first, second: await runNode(path.join(folder, "job.ts"), cwd) };
}

export const NIGHTLY_JOB: Awaited<ReturnType<typeof runNightlyJob>> = {
  first: {
    status: 4,
    stdout: "",
    stderr: 'deploy asks announce "Tell everyone?": no entry in answers.toml.\n',
  },
  second: { status: 0, stdout: "The site is on test, and everyone knows.\n", stderr: "" },
};

async function runNode(program: string, cwd: string) {
  const child = spawn(process.execPath, [program], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { status, stdout, stderr };
}

interface State {
  readonly questions?: readonly {
    readonly id: string;
    readonly digest?: string;
    readonly question: JsonObject;
  }[];
  readonly last?: string;
  readonly error?: string;
}

/** The service of a folder, in a process that can be killed. */
class WebService {
  readonly #program: string;
  readonly #cwd: string;
  #child: ChildProcess | undefined;
  #port = 0;

  constructor(folder: string, cwd: string) {
    this.#program = path.join(folder, "service.ts");
    this.#cwd = cwd;
  }

  async start(variables: Readonly<Record<string, string>> = {}): Promise<void> {
    const child = spawn(process.execPath, [this.#program], {
      cwd: this.#cwd,
      env: { ...process.env, PORT: "0", ...variables },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    this.#port = (JSON.parse(line) as { readonly port: number }).port; // What the service prints.
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    child.kill("SIGKILL");
    await once(child, "close");
  }

  async ask(user: string): Promise<State> {
    const response = await fetch(this.#url(user));
    return (await response.json()) as State; // What the service sends.
  }

  async send(user: string, body: JsonObject): Promise<State> {
    const request = { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(this.#url(user), request);
    return (await response.json()) as State; // What the service sends.
  }

  async answer(user: string, answer: string | boolean, by = "Zoe"): Promise<State> {
    const [question] = (await this.ask(user)).questions ?? [];
    return this.send(user, { id: question?.id ?? "", digest: question?.digest ?? "", answer, by });
  }

  /** The questions that a user sees. */
  async texts(user: string): Promise<readonly unknown[]> {
    return ((await this.ask(user)).questions ?? []).map(({ question }) => question["text"]);
  }

  /** How often it has paid. */
  payments(): number {
    const file = path.join(this.#cwd, "payments.txt");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").length : 0;
  }

  #url(user: string): string {
    return `http://127.0.0.1:${this.#port}/${user}`;
  }
}

const USERS = ["ana", "ben", "cem", "dee"];

/** Four users at once, kills at both questions and during a payment, and wrong and doubled answers. */
export async function tryWebService(folder: string) {
  const service = new WebService(folder, temporaryFolder());
  try {
    await service.start();
    await Promise.all(USERS.map((user) => service.send(user, { text: "Refund my order." })));
    await service.kill();
    await service.start();
    const asked = await Promise.all(USERS.map((user) => service.texts(user)));
    await service.answer("ana", true);
    await service.kill();
    await service.start();
    const { last } = await service.answer("ana", "savings");

    await service.answer("ben", true);
    const { error: wrong } = await service.answer("ben", "mattress");
    const twice = await Promise.all(
      ["Zoe", "Yan"].map((by) => service.answer("ben", "savings", by)),
    );
    const paid = service.payments();

    const [hers] = (await service.ask("dee")).questions ?? [];
    const body = { id: hers?.id ?? "", digest: "another", answer: true, by: "Mal" };
    const { error: foreign } = await service.send("cem", body);
    const { error: unread } = await service.send("dee", body);

    await service.kill();
    const doubt = await killWhilePaying(service);
    // It depends on how far the first one is whether the question is closed or has been answered.
    const refused = twice.filter(({ error }) => error !== undefined).length;
    const errors = { wrong, foreign, unread };
    return { asked, last, errors, refused, paid, doubt, paidInAll: service.payments() };
  } finally {
    await service.kill();
  }
}

/** Returns what a user is asked after the service was killed during the payment, and what comes of a no. */
async function killWhilePaying(service: WebService) {
  const before = service.payments();
  await service.start({ PAYMENT_MS: "100000" });
  await service.answer("dee", true);
  const paying = service.answer("dee", "checking").catch(() => undefined);
  while (service.payments() === before) await new Promise(setImmediate);
  await service.kill();
  await paying;
  await service.start();
  const asked = await service.texts("dee");
  const { last } = await service.answer("dee", "skip");
  return { asked, last };
}

export const WEB_SERVICE: Awaited<ReturnType<typeof tryWebService>> = {
  asked: USERS.map(() => ["Run refund?"]),
  last: "Done.",
  errors: {
    wrong: 'expected one of "savings", "checking"',
    foreign: "This question is not open.",
    unread: "It has changed since you read it.",
  },
  refused: 1,
  paid: 2,
  doubt: {
    asked: ["refund was cut off while it was running, and may or may not have finished. What now?"],
    last: "Done.",
  },
  paidInAll: 3,
};
