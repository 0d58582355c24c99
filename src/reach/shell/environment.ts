/**
 * The environment of a command that a model wrote. The command may print it, and its output goes to the provider, so only
 * variables that are known to hold no secret are passed on, and those that the user names.
 */

type Variables = Readonly<Record<string, string | undefined>>;

/** Which of the user's variables a command gets. */
export interface EnvironmentRules {
  /** Names that the user adds; `*` stands for anything. */
  readonly added: readonly string[];
  /** Names that the user hides, also from what is added. */
  readonly hidden: readonly string[];
  /** The temporary folder of the user is hidden in the sandbox. */
  readonly isSandboxed: boolean;
  readonly hasNetwork: boolean;
}

export interface ShellEnvironment {
  /** The whole environment of the command. */
  readonly variables: Variables;
  /** The names of variables that are set, and that the user could add. */
  readonly leftOut: readonly string[];
}

const ALWAYS_PASSED =
  "PATH HOME USER LOGNAME SHELL LANG LC_* TZ TERM COLORTERM NO_COLOR CI NODE_ENV VIRTUAL_ENV CONDA_PREFIX " +
  "CONDA_DEFAULT_ENV CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN GOPATH GOROOT GOFLAGS JAVA_HOME NVM_DIR PNPM_HOME " +
  "PYTHONPATH PKG_CONFIG_PATH LD_LIBRARY_PATH SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS NIX_* " +
  "GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE";
const PASSED = ALWAYS_PASSED.split(" ").map((name) => toPattern(name));
/** Access tokens are also kept in variables of Nix. */
const SECRETS_OF_NIX = /^NIX_(?:CONFIG|.*(?:TOKEN|PASS|USERNAME|SECRET|KEY|AUTH|CREDENTIAL).*)$/;
const PROXIES = /^(?:HTTPS?|FTP|ALL|NO)_PROXY$/i;
/** Never passed on, whoever names them. */
const OF_JP = /^JP_/;
/** The shell sets these itself. */
const OF_THE_SHELL = /^(?:_|PWD|OLDPWD|SHLVL)$/;

/** There is no terminal for a pager, an editor or a prompt. */
const WITHOUT_TERMINAL = {
  TERM: "dumb",
  PAGER: "cat",
  GIT_PAGER: "cat",
  GIT_EDITOR: "true",
  GIT_TERMINAL_PROMPT: "0",
};

export function shellEnvironment(variables: Variables, rules: EnvironmentRules): ShellEnvironment {
  const { isSandboxed, hasNetwork } = rules;
  const added = rules.added.map((name) => toPattern(name));
  const hidden = rules.hidden.map((name) => toPattern(name, "i"));
  const isPassed = (name: string, value: string) => {
    if (OF_JP.test(name) || isOneOf(hidden, name)) return false;
    if (isOneOf(added, name)) return true;
    if (name === "TMPDIR") return !isSandboxed;
    if (PROXIES.test(name)) return hasNetwork && !value.includes("@");
    return isOneOf(PASSED, name) && !SECRETS_OF_NIX.test(name);
  };
  const passed: Record<string, string> = {};
  const leftOut: string[] = [];
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) continue;
    if (isPassed(name, value)) passed[name] = value;
    else if (!isOneOf([OF_JP, OF_THE_SHELL, ...hidden], name)) leftOut.push(name);
  }
  return {
    variables: { ...passed, ...WITHOUT_TERMINAL },
    leftOut: leftOut.filter((name) => !Object.hasOwn(WITHOUT_TERMINAL, name)),
  };
}

function isOneOf(patterns: readonly RegExp[], name: string): boolean {
  return patterns.some((pattern) => pattern.test(name));
}

function toPattern(name: string, flags = ""): RegExp {
  const text = name.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll("*", ".*");
  return new RegExp(`^${text}$`, `s${flags}`);
}
