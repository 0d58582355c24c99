import { expect, test } from "vitest";
import type { InterruptChoice, InterruptRequest } from "../../../core/agent/index.ts";
import type { PartialConfig } from "../../../settings/config/index.ts";
import type { MenuRequest } from "../../../surfaces/terminal/index.ts";
import { FakeClock } from "../../../testing/index.ts";
import { configuredMenu } from "./interrupt.ts";

const { signal } = new AbortController();
const REPLY: InterruptRequest = { choices: ["continue", "reply", "stop", "discard"], signal };
const TOOLS: InterruptRequest = { choices: ["continue", "reply", "stop", "restart"], signal };

function menuWith(config: PartialConfig["interrupt"], edited?: string | Error) {
  const asked: MenuRequest[] = [];
  const menu = {
    choose: async (request: MenuRequest): Promise<InterruptChoice> => {
      asked.push(request);
      return request.reply === "elsewhere"
        ? { type: "reply", message: "" }
        : { type: "reply", message: "typed" };
    },
  };
  const clock = new FakeClock();
  const editMessage = async () => {
    if (edited instanceof Error) throw edited;
    return edited;
  };
  return { menu: configuredMenu(menu, { config, clock, editMessage }), asked, clock };
}

test.each<[string, InterruptChoice["type"]]>([
  ["continue", "continue"],
  ["stop", "stop"],
  ["abort", "discard"],
])(
  "during a reply, Ctrl-C does what streaming.action says without asking: %s",
  async (action, type) => {
    const config = { streaming: { action } } as PartialConfig["interrupt"]; // One of its words.
    const { menu, asked } = menuWith(config);
    expect([await menu.choose(REPLY), asked]).toEqual([{ type }, []]);
    expect(await menu.choose(TOOLS)).toEqual({ type: "reply", message: "typed" });
  },
);

test("while tools run, tool_call.action counts, and a response still needs its message", async () => {
  const restart = menuWith({ tool_call: { action: "restart" } });
  expect(await restart.menu.choose(TOOLS)).toEqual({ type: "restart" });
  const respond = menuWith({ tool_call: { action: "respond" } });
  expect(await respond.menu.choose(TOOLS)).toEqual({ type: "reply", message: "typed" });
  expect(respond.asked).toMatchObject([{ reply: "chosen" }]);
});

test("a second Ctrl-C soon after a fixed action ends the turn, and a later one does not", async () => {
  const config = { escalation_cooldown_secs: 5, streaming: { action: "continue" } } as const;
  const { menu, clock } = menuWith(config);
  const press = async () => (await menu.choose(REPLY)).type;
  const first = await press();
  clock.advance(4000);
  const soon = await press();
  clock.advance(6000);
  expect([first, soon, await press()]).toEqual(["continue", "leave", "continue"]);
});

test("compose_in_editor opens the editor for a reply, and falls back to the prompt", async () => {
  const config = { streaming: { compose_in_editor: true } };
  const written = menuWith(config, "from the editor\n");
  const broken = menuWith(config, new Error("no editor"));
  const always = menuWith({ streaming: { action: "reply", compose_in_editor: "always" } }, "");
  expect([
    await written.menu.choose(REPLY),
    await broken.menu.choose(REPLY),
    await always.menu.choose(REPLY),
  ]).toEqual([
    { type: "reply", message: "from the editor" },
    { type: "reply", message: "typed" },
    { type: "reply", message: "typed" },
  ]);
  expect([broken.asked[1]?.reply, always.asked[0]?.reply]).toEqual(["chosen", undefined]);
});
