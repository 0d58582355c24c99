/**
 * The environment of a command that a model wrote: without keys, and without variables that make programs run other
 * programs.
 */

type Variables = Readonly<Record<string, string | undefined>>;

/** Names that contain a word for something secret. */
const SECRET =
  /(?:^|_)(?:KEY|APIKEY|TOKENS?|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|PWD_HASH|CREDENTIALS?|AUTH|PAT|COOKIES?|DSN)(?:_|$)/i;
/** Git's only variables that run nothing and point nowhere are the commit identities. */
const GIT = /^GIT_(?!(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)$)/;
/** Variables of jp, and those that make shells and loaders run or read something before the command. */
const OTHERS =
  /^(?:JP_.*|LD_PRELOAD|LD_AUDIT|DYLD_.*|BASH_ENV|ENV|ZDOTDIR|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|IFS|CDPATH|GLOBIGNORE|DBUS_.*|SSH_(?:AUTH_SOCK|AGENT_PID|ASKPASS)|SUDO_ASKPASS|GPG_AGENT_INFO|XAUTHORITY)$/;

/** There is no terminal for a pager, an editor or a prompt. */
const WITHOUT_TERMINAL = {
  TERM: "dumb",
  PAGER: "cat",
  GIT_PAGER: "cat",
  GIT_EDITOR: "true",
  GIT_TERMINAL_PROMPT: "0",
};

/** `hidden` has names that the user hides from commands; `*` matches anything. */
export function shellVariables(variables: Variables, hidden: readonly string[]): Variables {
  const patterns = [SECRET, GIT, OTHERS, ...hidden.map(toPattern)];
  const kept = Object.entries(variables).filter(
    ([name]) => !patterns.some((pattern) => pattern.test(name)),
  );
  return { ...Object.fromEntries(kept), ...WITHOUT_TERMINAL };
}

function toPattern(name: string): RegExp {
  const text = name.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll("*", ".*");
  return new RegExp(`^${text}$`, "is");
}
