import { expect, test } from "vitest";
import { findEditor } from "./editor.ts";

const variables = { EDITOR: "vim", MY_EDITOR: "nano -w" };

test("the editor is the command of the config, or else the first variable that is set", () => {
  expect([
    findEditor(variables),
    findEditor(variables, { envs: ["NOT_SET", "MY_EDITOR"] }),
    findEditor(variables, { cmd: "code --wait" }),
    findEditor(variables, { cmd: { program: "my editor", args: ["-x", "a b"] } }),
    findEditor(variables, { cmd: { program: "a | b", args: ["a b"], shell: true } }),
    findEditor({}, {}),
  ]).toEqual([
    { command: "vim", variable: "EDITOR" },
    { command: "nano -w", variable: "MY_EDITOR" },
    { command: "code --wait", variable: "editor.cmd" },
    { command: "'my editor' -x 'a b'", variable: "editor.cmd" },
    { command: "a | b 'a b'", variable: "editor.cmd" },
    undefined,
  ]);
});
