import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { parse } from "smol-toml";
import { Webhook } from "standardwebhooks";
import { describe, expect, onTestFinished, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { blocksOf, readDocument } from "../../../test/support/documents.ts";
import { type ChannelSettings, parseConfig, resolveNotify } from "../../settings/config/index.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { type Channel, openChannels, PermanentError } from "./channels.ts";
import { composeMessage } from "./message.ts";
import { asking, pendingNotice } from "./pending-notice.fixture.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const VARIABLES = {
  PATH: process.env["PATH"] ?? "",
  JP_WEBHOOK_SECRET: SECRET,
};

function open(settings: ChannelSettings, variables: Record<string, string> = VARIABLES): Channel {
  const [channel] = openChannels([settings], { variables, cwd: temporaryFolder() });
  if (channel === undefined) throw new Error("no channel");
  return channel;
}

function message(fields: Parameters<typeof pendingNotice>[0] = {}) {
  const link = "https://desk.example";
  return composeMessage([pendingNotice(fields)], { content: "question", link, now: new Date() });
}

const running = new AbortController().signal;

async function failureOf(sending: Promise<void>): Promise<unknown> {
  return sending.then(
    () => "sent",
    (error: unknown) => error,
  );
}

/** Writes what it got into a file, and ends with the code. */
function program(file: string, code = ""): ChannelSettings {
  const script = `
    const { readFileSync, writeFileSync } = require("node:fs");
    const input = readFileSync(0, "utf8");
    writeFileSync(${JSON.stringify(file)}, JSON.stringify({ input, env: process.env, args: process.argv.slice(1) }));
    ${code}`;
  return { type: "command", program: process.execPath, args: ["-e", script, "--", "$(touch x)"] };
}

/** The command of the documentation that sends an e-mail. */
function emailRecipe(): ChannelSettings {
  const blocks = blocksOf([readDocument("docs/notifications.md")], "toml");
  const recipe = blocks.find(({ code }) => code.includes("sendmail"))?.code ?? "";
  const [settings] = resolveNotify(parseConfig(parse(recipe)).config)?.channels ?? [];
  if (settings === undefined) throw new Error("no recipe");
  return settings;
}

interface Got {
  readonly input: string;
  readonly env: Readonly<Record<string, string>>;
  readonly args: readonly string[];
}

describe("a command", () => {
  test("gets the JSON on standard input and the rest in its environment, without a shell", async () => {
    counters("T-NOTE-3");
    const file = path.join(temporaryFolder(), "got.json");
    const sent = message({ question: asking('Sure?"; $(touch y)\u0000\u001b[2J') });
    await open(program(file)).send(sent, running);
    const { input, env, args } = JSON.parse(readFileSync(file, "utf8")) as Got;
    expect([JSON.parse(input), env["JP_NOTIFY_TITLE"], env["JP_NOTIFY_LINK"], args]).toEqual([
      sent.json,
      "jp: 1 question is waiting",
      "https://desk.example/#/inquiries/jp-c17673232450/call_1.sure.1",
      ["$(touch x)"],
    ]);
    expect(env["JP_NOTIFY_TEXT"]).toBe(
      'deploy asks a question, in "Ship version 2".\n' +
        'Sure?"; $(touch y)␀␛[2J\n' +
        "https://desk.example/#/inquiries/jp-c17673232450/call_1.sure.1",
    );
  });

  test("can send an e-mail, as the recipe says, in which no words of a tool or a model become a header", async () => {
    counters("T-NOTE-3");
    const [folder, bin] = [temporaryFolder(), temporaryFolder()];
    const file = path.join(folder, "got.txt");
    const sendmail = `#!/bin/sh\n{ printf '%s\\n' "$*"; cat; } > ${file}\n`;
    writeFileSync(path.join(bin, "sendmail"), sendmail, { mode: 0o755 });
    const hostile = "x\r\nBcc: eve@example.org\r\n\r\n.\r\n$(touch y)%s\u001b[2J";
    const sent = message({ question: asking(hostile), title: hostile, tool: hostile });
    await open(emailRecipe(), { PATH: `${bin}:${VARIABLES.PATH}` }).send(sent, running);
    const [args, ...mail] = readFileSync(file, "utf8").split("\n");
    expect([args, mail.slice(0, 4), mail.slice(4).join("\n")]).toEqual([
      "-i ada@example.org",
      [
        "To: ada@example.org",
        "Subject: jp: 1 question is waiting",
        "Content-Type: text/plain; charset=utf-8",
        "",
      ],
      `${sent.text}\n`,
    ]);
  });

  test("does not get the secrets of other channels", async () => {
    counters("T-NOTE-2");
    const file = path.join(temporaryFolder(), "got.json");
    const machine = { variables: VARIABLES, cwd: temporaryFolder() };
    const settings = [program(file), webhook("127.0.0.1:1")];
    const [command] = openChannels(settings, machine);
    await command?.send(message(), running);
    const got = readFileSync(file, "utf8");
    expect([got.includes(SECRET), got.includes("PATH")]).toEqual([false, true]);
  });

  test("says how it failed, with the first line of its errors", async () => {
    const file = path.join(temporaryFolder(), "got.json");
    const failing = program(file, `console.error("no display\\nmore"); process.exitCode = 7;`);
    expect(await failureOf(open(failing).send(message(), running))).toEqual(
      new Error(`${process.execPath} exited with 7: no display`),
    );
  });

  test("is not worth another attempt if it does not exist", async () => {
    const missing: ChannelSettings = { type: "command", program: "/no/such/program", args: [] };
    const failure = await failureOf(open(missing).send(message(), running));
    expect([failure, failure instanceof PermanentError]).toEqual([
      new PermanentError("Cannot run /no/such/program: ENOENT."),
      true,
    ]);
  });

  test("is ended when it takes too long", async () => {
    const endless: ChannelSettings = { type: "command", program: "sleep", args: ["1000"] };
    const limit = new AbortController();
    const sending = failureOf(open(endless).send(message(), limit.signal));
    limit.abort(new Error("too late"));
    expect(await sending).toEqual(new Error("too late"));
  });
});

interface Received {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function receiver(status = 204, headers: Record<string, string> = {}) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    received.push({ url: request.url, headers: request.headers, body: await text(request) });
    response.writeHead(status, headers).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return { received, host: `127.0.0.1:${port}`, server };
}

function webhook(host: string): ChannelSettings {
  const url = `http://${host}/hook?a=b`;
  return { type: "webhook", url, secretVariable: "JP_WEBHOOK_SECRET" };
}

describe("a webhook", () => {
  test("is posted JSON that its receiver can verify, with an id that a repetition keeps", async () => {
    counters("T-NOTE-4");
    const { received, host } = await receiver();
    const sent = message({ question: asking("Deploy? ä 🚀 \ud800") });
    const channel = open(webhook(host));
    await channel.send(sent, running);
    await channel.send(sent, running);
    const verified = received.map(({ body, headers }) =>
      // The three headers it looks at are texts.
      new Webhook(SECRET).verify(body, headers as Record<string, string>),
    );
    expect([
      verified,
      received.map(({ url }) => url),
      received.map(({ headers }) => headers["webhook-id"]),
      received[0]?.headers["content-type"],
    ]).toEqual([
      [sent.json, sent.json],
      ["/hook?a=b", "/hook?a=b"],
      [sent.id, sent.id],
      "application/json",
    ]);
  });

  test("is not verified by another secret, or with another body", async () => {
    counters("T-NOTE-4");
    const { received, host } = await receiver();
    await open(webhook(host)).send(message(), running);
    const [{ body, headers } = { body: "", headers: {} }] = received;
    const other = `whsec_${Buffer.alloc(32).toString("base64")}`;
    const verify = (secret: string, said: string) => () =>
      new Webhook(secret).verify(said, headers as Record<string, string>);
    expect(verify(other, body)).toThrow("No matching signature");
    expect(verify(SECRET, body.replace("Deploy", "Destroy"))).toThrow("No matching signature");
  });

  test("never contains its secret", async () => {
    counters("T-NOTE-2");
    const { received, host } = await receiver();
    await open(webhook(host)).send(message(), running);
    expect(JSON.stringify(received)).not.toContain(SECRET.replace("whsec_", ""));
  });

  test.each([
    ["an error", 500, {}],
    ["a redirection, which jp does not follow", 307, { location: "/elsewhere" }],
  ])("has failed if the answer is not a success: %s", async (_name, status, headers) => {
    counters("T-NOTE-2");
    const { received, host } = await receiver(status, headers);
    expect(await failureOf(open(webhook(host)).send(message(), running))).toEqual(
      new Error(`${host} answered with status ${status}.`),
    );
    expect(received.length).toBe(1);
  });

  test("has failed if it cannot be reached, and the error shows only its host", async () => {
    const { host, server } = await receiver();
    await new Promise((resolve) => server.close(resolve));
    expect(await failureOf(open(webhook(host)).send(message(), running))).toEqual(
      new Error(`Cannot reach ${host}: ECONNREFUSED.`),
    );
  });

  test.each([
    ["no secret", {}, "The environment variable JP_WEBHOOK_SECRET is not set."],
    [
      "a secret that is too short",
      { JP_WEBHOOK_SECRET: "whsec_c2hvcnQ=" },
      "JP_WEBHOOK_SECRET is not a webhook secret: expected whsec_ and 24 to 64 bytes in Base64.",
    ],
    [
      "a secret that is not Base64",
      { JP_WEBHOOK_SECRET: "a sentence that is long enough, but no key" },
      "JP_WEBHOOK_SECRET is not a webhook secret: expected whsec_ and 24 to 64 bytes in Base64.",
    ],
  ])("sends nothing if its settings are not usable: %s", async (_name, variables, problem) => {
    const { received, host } = await receiver();
    const failure = await failureOf(open(webhook(host), variables).send(message(), running));
    expect([failure, failure instanceof PermanentError, received]).toEqual([
      new PermanentError(problem),
      true,
      [],
    ]);
  });
});
