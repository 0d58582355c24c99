import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { Webhook } from "standardwebhooks";
import { describe, expect, onTestFinished, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import type { ChannelSettings, EmailChannel } from "../../settings/config/index.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { type Channel, openChannels, PermanentError } from "./channels.ts";
import { composeMessage } from "./message.ts";
import { asking, pendingNotice } from "./pending-notice.fixture.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const PASSWORD = "correct horse battery staple";
const VARIABLES = {
  PATH: process.env["PATH"] ?? "",
  JP_WEBHOOK_SECRET: SECRET,
  JP_SMTP_PASSWORD: PASSWORD,
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

  test("does not get the secrets of other channels", async () => {
    counters("T-NOTE-2");
    const file = path.join(temporaryFolder(), "got.json");
    const machine = { variables: VARIABLES, cwd: temporaryFolder() };
    const settings = [program(file), webhook("127.0.0.1:1"), emailSettings(25)];
    const [command] = openChannels(settings, machine);
    await command?.send(message(), running);
    const got = readFileSync(file, "utf8");
    expect([got.includes(SECRET), got.includes(PASSWORD), got.includes("PATH")]).toEqual([
      false,
      false,
      true,
    ]);
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

function emailSettings(port: number): EmailChannel {
  return {
    type: "email",
    from: "jp <jp@example.org>",
    to: ["ada@example.org", "Bob <bob@example.org>"],
    server: "127.0.0.1",
    port,
    user: "jp",
    passwordVariable: "JP_SMTP_PASSWORD",
  };
}

interface Mail {
  readonly recipients: readonly string[];
  readonly user: unknown;
  readonly head: string;
  readonly body: string;
}

const NO_MAIL: Mail = { recipients: [], user: undefined, head: "", body: "" };

async function mailServer(options: SMTPServerOptions = {}) {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    hideSTARTTLS: true,
    allowInsecureAuth: true,
    authOptional: true,
    logger: false,
    onAuth: ({ username, password }, _session, done) =>
      password === PASSWORD
        ? done(null, { user: username })
        : done(new Error(`Not with ${password}`)),
    onData: async (stream, { envelope, user }, done) => {
      const [head = "", ...body] = (await text(stream)).split("\r\n\r\n");
      const recipients = envelope.rcptTo.map(({ address }) => address);
      mails.push({ recipients, user, head, body: body.join("\r\n\r\n") });
      done();
    },
    ...options,
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "0.0.0.0", listening.resolve);
  await listening.promise;
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as AddressInfo; // It listens on a port.
  return { mails, port };
}

describe("an e-mail", () => {
  test("is plain text, from and to whom the config says, after a login", async () => {
    const { mails, port } = await mailServer();
    await open(emailSettings(port)).send(message(), running);
    const [{ head, body, recipients, user } = NO_MAIL] = mails;
    expect([mails.length, recipients, user, body]).toEqual([
      1,
      ["ada@example.org", "bob@example.org"],
      "jp",
      'deploy asks a question, in "Ship version 2".\r\nDeploy to production?\r\n' +
        "https://desk.example/#/inquiries/jp-c17673232450/call_1.sure.1\r\n",
    ]);
    expect(head.split("\r\n")).toEqual(
      expect.arrayContaining([
        "From: jp <jp@example.org>",
        "To: ada@example.org, Bob <bob@example.org>",
        "Subject: jp: 1 question is waiting",
        "Auto-Submitted: auto-generated",
        "Content-Type: text/plain; charset=utf-8",
        expect.stringMatching(/^Message-ID: <msg_[\w-]+@example\.org>$/),
      ]),
    );
  });

  test("gets no header, recipient or end from what a tool or a model says", async () => {
    counters("T-NOTE-3");
    const { mails, port } = await mailServer();
    const hostile = "x\r\nBcc: eve@example.org\r\n\r\n.\r\nRCPT TO:<eve@example.org>\r\n\u001b[2J";
    const sent = message({ question: asking(hostile), title: hostile, tool: hostile });
    await open(emailSettings(port)).send(sent, running);
    const [{ head, recipients } = NO_MAIL] = mails;
    expect([mails.length, recipients, /eve/.test(head)]).toEqual([
      1,
      ["ada@example.org", "bob@example.org"],
      false,
    ]);
  });

  test("is sent without a login if no user is configured", async () => {
    const { mails, port } = await mailServer();
    const { user: _user, ...anonymous } = emailSettings(port);
    await open(anonymous, {}).send(message(), running);
    expect(mails.map(({ user }) => user)).toEqual([undefined]);
  });

  test("says why if it is refused, without the password", async () => {
    counters("T-NOTE-2");
    const { mails, port } = await mailServer({
      onAuth: ({ password }, _session, done) => done(new Error(`Not with ${password}`)),
    });
    const failure = await failureOf(open(emailSettings(port)).send(message(), running));
    expect([String(failure).includes("Not with [redacted]"), mails]).toEqual([true, []]);
  });

  test("is not sent again to the others if one recipient is refused", async () => {
    const { mails, port } = await mailServer({
      onRcptTo: ({ address }, _session, done) =>
        done(address.startsWith("bob") ? new Error("Unknown") : null),
    });
    const failure = await failureOf(open(emailSettings(port)).send(message(), running));
    expect([failure, failure instanceof PermanentError, mails.length]).toEqual([
      new PermanentError("127.0.0.1 refused bob@example.org."),
      true,
      1,
    ]);
  });

  test("is not sent to another machine without encryption, nor is the password", async () => {
    counters("T-NOTE-2");
    let logins = 0;
    const { mails, port } = await mailServer({
      onAuth: (_auth, _session, done) => {
        logins += 1;
        done(null, { user: "jp" });
      },
    });
    // Leads to this machine, but does not have to.
    const settings = { ...emailSettings(port), server: "0.0.0.0" };
    const failure = await failureOf(open(settings).send(message(), running));
    expect([failure instanceof Error, logins, mails]).toEqual([true, 0, []]);
  });

  test("needs the variable with the password", async () => {
    expect(await failureOf(open(emailSettings(25), {}).send(message(), running))).toEqual(
      new PermanentError("The environment variable JP_SMTP_PASSWORD is not set."),
    );
  });
});
