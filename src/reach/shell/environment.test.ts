import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { shellVariables } from "./environment.ts";

test("a command does not get keys, and what makes programs run others", () => {
  counters("T-SHELL-6");
  const hidden = (
    "JP_X OPENAI_API_KEY GITHUB_TOKEN npm_token AWS_SECRET_ACCESS_KEY DB_PASSWORD MY_SECRETS STRIPE_KEY SSH_AUTH_SOCK " +
    "LD_PRELOAD BASH_ENV ENV BASH_FUNC_ls%% GIT_SSH_COMMAND GIT_CONFIG_COUNT GIT_DIR DBUS_SESSION_BUS_ADDRESS HF_TOKEN " +
    "SENTRY_DSN MINE My_Own_1"
  ).split(" ");
  const kept = [
    "PATH",
    "HOME",
    "LANG",
    "KEYBOARD",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_EMAIL",
    "MONKEY",
    "TOKENIZERS_PARALLELISM",
    "OWN",
  ];
  const variables = Object.fromEntries([...hidden, ...kept].map((name) => [name, "x"]));
  const passed = Object.entries(shellVariables(variables, ["MINE", "my_own_*"]));
  expect(passed.filter(([, value]) => value === "x").map(([name]) => name)).toEqual(kept);
});

test("a command gets no pager, editor or prompt, which would wait for a terminal", () => {
  const { PAGER, GIT_PAGER, GIT_TERMINAL_PROMPT, TERM } = shellVariables({ PAGER: "less" }, []);
  expect([PAGER, GIT_PAGER, GIT_TERMINAL_PROMPT, TERM]).toEqual(["cat", "cat", "0", "dumb"]);
});

test("a name with characters of regular expressions hides only itself", () => {
  expect(shellVariables({ "A.B": "x", AXB: "x" }, ["A.B"])).toMatchObject({ AXB: "x" });
});
