import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import type { JsonObject } from "../../util/index.ts";
import { conversationConfig } from "./conversation-config.ts";
import { DEFAULTS } from "./defaults.ts";
import { mergeConfig } from "./layers.ts";
import { resolveNotify } from "./notify-settings.ts";
import { parseConfig, parseConfigOrThrow } from "./parse-config.ts";
import { recordConfig } from "./recorded-config.ts";

function resolve(notify: JsonObject) {
  return resolveNotify(mergeConfig(DEFAULTS, parseConfigOrThrow("test", { notify })));
}

describe("notifications", () => {
  test("are off until a channel is configured", () => {
    expect([resolve({}), resolve({ content: "question", link: "https://a.b" })]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test("go to every channel that is configured", () => {
    const settings = resolve({
      content: "none",
      debounce_secs: 0,
      link: "https://desk.example/jp//?x#/y",
      command: { program: "notify", args: ["-x"] },
      webhook: { url: "https://hooks.example/jp", secret_env: "MINE" },
    });
    expect(settings).toEqual({
      content: "none",
      debounceMs: 0,
      link: "https://desk.example/jp",
      channels: [
        { type: "command", program: "notify", args: ["-x"] },
        { type: "webhook", url: "https://hooks.example/jp", secretVariable: "MINE" },
      ],
    });
  });

  test("say who asks and where, and wait ten seconds, by default", () => {
    expect(resolve({ command: { program: "notify" } })).toEqual({
      content: "title",
      debounceMs: 10_000,
      channels: [{ type: "command", program: "notify", args: [] }],
    });
  });

  test.each<[JsonObject, string]>([[{ command: { args: ["x"] } }, "notify.command.program"]])(
    "say what to set if they are only half configured: %j",
    (notify, keys) => {
      expect(() => resolve(notify)).toThrow(`The config is incomplete: set ${keys}`);
    },
  );

  test("fail if the config still has notify.email, and name the recipe for it", () => {
    const { config, errors, warnings } = parseConfig({
      notify: { command: { program: "notify" }, email: { server: "mx.example.org" } },
    });
    expect([errors, warnings]).toEqual([
      [],
      [
        {
          path: ["notify", "email"],
          message:
            "not supported: jp no longer sends e-mails itself; notify.command can: see docs/notifications.md#send-an-e-mail",
          isUnsupported: true,
        },
      ],
    ]);
    expect(() => resolveNotify(config)).toThrow(
      expect.objectContaining({
        code: "notify_email_removed",
        hint: "To send them with notify.command: docs/notifications.md#send-an-e-mail",
      }),
    );
  });

  test.each([
    "http://hooks.example",
    "http://127.0.0.1.example",
    "https://user:password@hooks.example",
    "file:///etc/passwd",
    "hooks.example",
  ])("do not go where others could read them: %s", (url) => {
    counters("T-NOTE-2");
    expect(() => resolve({ webhook: { url } })).toThrow("expected");
  });

  test.each(["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1/x"])(
    "go to %s, which is on this machine",
    (url) => {
      expect(resolve({ webhook: { url } })?.channels).toEqual([
        { type: "webhook", url, secretVariable: "JP_WEBHOOK_SECRET" },
      ]);
    },
  );

  test("are neither recorded with a conversation nor read from one", () => {
    counters("T-NOTE-1");
    const notify = { webhook: { url: "https://hooks.example" } };
    const config = parseConfigOrThrow("test", { notify, user: { name: "Ada" } });
    const recorded = JSON.stringify(recordConfig({ builtins: {}, config }));
    expect([
      recorded.includes("Ada"),
      recorded.includes("hooks"),
      conversationConfig({ notify }, [{ notify }]),
    ]).toEqual([true, false, {}]);
  });
});
