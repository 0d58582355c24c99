import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { describe, expect, onTestFinished, test } from "vitest";
import { counters } from "../security/threats.ts";
import { Project } from "./support.ts";

const SECRET = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;

/** A workspace of a user with this config of their own. */
function projectWith(config: string): Project {
  const project = new Project();
  const folder = path.join(project.home, ".config", "jp");
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "config.toml"), config);
  return project;
}

/** A command that copies its input to a file of this name in its folder. */
function copying(file: string): string {
  return `[notify.command]\nprogram = "sh"\nargs = ["-c", "cat > ${file}"]\n`;
}

async function receiver(status: number) {
  const verified: unknown[] = [];
  const server = createServer(async (request, response) => {
    const headers = request.headers as Record<string, string>; // The three that count are texts.
    verified.push(new Webhook(SECRET).verify(await text(request), headers));
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`; // It listens on a port.
  return { verified, host, config: `[notify.webhook]\nurl = "http://${host}"\n` };
}

const TEST_JSON = {
  type: "test",
  timestamp: expect.any(String),
  data: { text: "This is a test. jp will notify you this way when a question is waiting." },
};

describe("jp notify test", () => {
  test("sends through every configured channel, and says what happened", async () => {
    const hook = await receiver(200);
    const project = projectWith(copying("got.json") + hook.config);
    const variables = { JP_WEBHOOK_SECRET: SECRET };
    const ended = await project.jpWith(variables, "notify", "test");
    const got: unknown = JSON.parse(readFileSync(path.join(project.root, "got.json"), "utf8"));
    expect([ended, got, hook.verified]).toEqual([
      { status: 0, stdout: "command: sent\nwebhook: sent\n", stderr: "" },
      TEST_JSON,
      [TEST_JSON],
    ]);
  });

  test("fails if one channel fails, after trying the others", async () => {
    const hook = await receiver(503);
    const project = projectWith(copying("got.json") + hook.config);
    const variables = { JP_WEBHOOK_SECRET: SECRET };
    expect(await project.jpWith(variables, "notify", "test")).toEqual({
      status: 1,
      stdout: `command: sent\nwebhook: failed: ${hook.host} answered with status 503.\n`,
      stderr: "",
    });
  });

  test("sends only through the channels that are named, without the secrets of others", async () => {
    const hook = await receiver(200);
    const printing = `[notify.command]\nprogram = "sh"\nargs = ["-c", "env > got.txt"]\n`;
    const project = projectWith(printing + hook.config);
    const variables = { JP_WEBHOOK_SECRET: SECRET };
    const { stdout } = await project.jpWith(variables, "notify", "test", "--channel", "command");
    const got = readFileSync(path.join(project.root, "got.txt"), "utf8");
    expect([stdout, hook.verified, got.includes(SECRET)]).toEqual(["command: sent\n", [], false]);
  });

  test("says what is missing", async () => {
    const nothing = await projectWith("").jp("notify", "test");
    const other = await projectWith(copying("x")).jp("notify", "test", "--channel", "webhook");
    const half = await projectWith(`notify.command.args = ["x"]`).jp("notify", "test");
    const hint = "Start with: jp config set --in user";
    expect([nothing, other, half.status, half.stderr.split("\n")[0]]).toEqual([
      {
        status: 1,
        stdout: "",
        stderr: `jp: No notifications are configured.\n${hint} notify.command.program /path/to/program\n`,
      },
      {
        status: 1,
        stdout: "",
        stderr: `jp: Not configured: notify.webhook.\n${hint} notify.webhook.url https://hooks.example.org/jp\n`,
      },
      1,
      "jp: The config is incomplete: set notify.command.program.",
    ]);
  });

  test("sends nothing if the config still has notify.email, and names the recipe for it", async () => {
    const project = projectWith(`${copying("got.json")}[notify.email]\nport = 587\n`);
    const { status, stdout, stderr } = await project.jp("notify", "test");
    expect([status, stdout, stderr.split("\n").slice(1)]).toEqual([
      1,
      "",
      [
        "jp: The config has notify.email, and jp no longer sends e-mails itself.",
        "To send them with notify.command: docs/notifications.md#send-an-e-mail",
        "",
      ],
    ]);
    expect(existsSync(path.join(project.root, "got.json"))).toBe(false);
  });

  test("uses nothing of a workspace that is not trusted", async () => {
    counters("T-NOTE-1");
    const project = new Project();
    writeFileSync(path.join(project.root, ".jp", "config.toml"), copying("RAN"));
    const untrusted = await project.jpWith({ JP_TRUSTED_WORKSPACES: "" }, "notify", "test");
    expect([untrusted.status, untrusted.stderr.split("\n").slice(0, 2)]).toEqual([
      1,
      [
        "warning: not used, because you have not trusted this workspace: notifications. Run `jp trust` to review it.",
        "jp: No notifications are configured.",
      ],
    ]);
    expect(() => readFileSync(path.join(project.root, "RAN"))).toThrow("ENOENT");
  });
});
