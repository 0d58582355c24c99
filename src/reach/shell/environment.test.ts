import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { type EnvironmentRules, shellEnvironment } from "./environment.ts";

const PLAIN: EnvironmentRules = { added: [], hidden: [], isSandboxed: false, hasNetwork: true };

function named(names: string): Readonly<Record<string, string>> {
  return Object.fromEntries(names.split(" ").map((name) => [name, "x"]));
}

/** The names of variables with these values that a command gets. */
function passedOf(variables: Readonly<Record<string, string>>, rules: Partial<EnvironmentRules>) {
  const passed = shellEnvironment(variables, { ...PLAIN, ...rules }).variables;
  return Object.keys(variables).filter((name) => passed[name] === variables[name]);
}

test("a command gets no secret, whatever its name, and nothing that makes programs run others", () => {
  counters("T-SHELL-6");
  const names =
    "JP_X OPENAI_API_KEY GITHUB_TOKEN npm_token AWS_SECRET_ACCESS_KEY DB_PASSWORD MY_SECRETS SSH_AUTH_SOCK LD_PRELOAD " +
    "BASH_ENV ENV BASH_FUNC_ls%% GIT_SSH_COMMAND GIT_CONFIG_COUNT GIT_DIR DBUS_SESSION_BUS_ADDRESS SENTRY_DSN PGPASSWORD " +
    "MYSQL_PWD SSHPASS DB_PASS BW_SESSION ACCESSTOKEN DATABASE_URL REDIS_URL AWS_PROFILE NODE_OPTIONS PYTHONSTARTUP " +
    "PERL5OPT RUBYOPT NIX_CONFIG NIX_GITHUB_PRIVATE_USERNAME NIX_GITHUB_PRIVATE_PASSWORD NIX_PASSPHRASE NIX_BASIC_AUTH " +
    "NIX_CREDENTIALS toString __proto__ path";
  expect(passedOf(named(names), {})).toEqual([]);
});

test("a command gets what programs need to be found, to speak the user's language and to commit", () => {
  const names =
    "PATH HOME USER LOGNAME SHELL LANG LC_ALL LC_TIME TZ COLORTERM NO_COLOR CI NODE_ENV VIRTUAL_ENV CONDA_PREFIX " +
    "CONDA_DEFAULT_ENV CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN GOPATH GOROOT GOFLAGS JAVA_HOME NVM_DIR PNPM_HOME PYTHONPATH " +
    "PKG_CONFIG_PATH LD_LIBRARY_PATH SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS NIX_PATH NIX_PROFILES GIT_AUTHOR_NAME " +
    "GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE";
  const variables = named(names);
  expect(passedOf(variables, { isSandboxed: true, hasNetwork: false })).toEqual(
    Object.keys(variables),
  );
});

test("a command gets a proxy only with a network, and only without a user and a password", () => {
  counters("T-SHELL-6");
  const variables = {
    HTTPS_PROXY: "http://proxy.example:3128",
    http_proxy: "http://ana:geheim@proxy.example:3128",
    ALL_PROXY: "socks5://token@proxy.example",
    no_proxy: "localhost,.example",
  };
  expect([passedOf(variables, {}), passedOf(variables, { hasNetwork: false })]).toEqual([
    ["HTTPS_PROXY", "no_proxy"],
    [],
  ]);
});

test("a command gets the user's temporary folder only outside of the sandbox, which hides it", () => {
  const variables = { TMPDIR: "/tmp/ana" };
  expect([passedOf(variables, {}), passedOf(variables, { isSandboxed: true })]).toEqual([
    ["TMPDIR"],
    [],
  ]);
});

test("a command gets what the user adds, unless the user hides it, and never what is jp's", () => {
  counters("T-SHELL-6");
  const variables = named("AWS_PROFILE AWS_REGION MYAPP_A MYAPP_B MYAPP_TOKEN A.B AXB JP_X MINE");
  const rules = { added: ["AWS_PROFILE", "MYAPP_*", "A.B", "JP_X"], hidden: ["*_token", "AX."] };
  expect(passedOf(variables, rules)).toEqual(["AWS_PROFILE", "MYAPP_A", "MYAPP_B", "A.B"]);
});

test("a name that the user hides is not passed on, even if every command gets it", () => {
  counters("T-SHELL-6");
  expect(passedOf(named("PATH GOFLAGS LC_ALL"), { hidden: ["goflags", "LC_*"] })).toEqual(["PATH"]);
});

test("the variables left out are those that the user could add", () => {
  const variables = named("PATH AWS_PROFILE MINE JP_X PWD OLDPWD SHLVL _ PAGER HIDDEN");
  const { leftOut } = shellEnvironment(variables, { ...PLAIN, hidden: ["HIDDEN"] });
  expect(leftOut).toEqual(["AWS_PROFILE", "MINE"]);
});

test("a command gets no pager, editor or prompt, which would wait for a terminal", () => {
  const { variables } = shellEnvironment({ PAGER: "less", TERM: "xterm" }, PLAIN);
  const { PAGER, GIT_PAGER, GIT_TERMINAL_PROMPT, TERM } = variables;
  expect([PAGER, GIT_PAGER, GIT_TERMINAL_PROMPT, TERM]).toEqual(["cat", "cat", "0", "dumb"]);
});
