/** The config file of a new workspace: what was chosen, and examples to begin with. */
import { PROVIDER_NAMES } from "../../../provider/index.ts";

export interface Choices {
  readonly model?: string;
  /** Absent if nobody was asked. */
  readonly run?: "ask" | "unattended";
}

/** `found` are models that could be chosen. None of the texts may hold a control character. */
export function configText({ model, run }: Choices, found: readonly string[]): string {
  const [suggested = "ollama/qwen3", ...others] = found;
  const isOpen = model === undefined;
  return `# The config of this jp workspace. \`jp config schema\` has every key there is, and
# \`jp config show --explain\` what is in force, and why.
# Where a # has no space behind it, take it away, and what follows holds.

# The model that answers: provider/name. The providers are
# ${PROVIDER_NAMES.join(", ")};
# keys come from the environment, never from here.
[assistant.model]
${isOpen ? "#" : ""}id = ${JSON.stringify(model ?? suggested)}
${isOpen && others.length > 0 ? `# Also found: ${others.join(", ")}\n` : ""}
# For tools without a setting of their own. Before one runs: ask, unattended (it runs at once), edit
# (its arguments) or skip. jp's file tools have their own: they read files in this workspace without
# asking. Before they change one, they show you the change and ask.
[conversation.tools.'*']
${run === undefined ? "#" : ""}run = "${run ?? "ask"}"
# In a non-interactive run, a script for example: a tool that jp would ask about does not run (deny).
# Questions of tools go to a model (auto), take their defaults, or are refused (deny). Those that only
# you may answer, such as those about changes to files, are always refused.
#detached = { run = "deny", tool = "defaults" }

# The file tools that come with jp. For one query: jp query -t fs
#[conversation.tools]
#fs_read_file.enable = true
#fs_list_files.enable = true
#fs_grep_files.enable = true
#fs_create_file.enable = true
#fs_modify_file.enable = true
#fs_delete_file.enable = true

# A tool of your own is a command. It asks by printing a question, and is started again with the
# answer, which is null before. Try it: jp tool run clean
#[conversation.tools.clean]
#source = "local"
#summary = "Deletes the folder build."
#questions.sure.target = "user" # or "assistant": then a model answers
#[conversation.tools.clean.command]
#shell = true
#program = '''
#case {{tool.answers.sure}} in
#true) rm -rf build && echo "The folder build is gone." ;;
#false) echo "Nothing was deleted." ;;
#*) echo '{"type":"needs_input","question":{"id":"sure","text":"Delete the folder build?","answer_type":{"type":"boolean"}}}' ;;
#esac'''

# An MCP server, started when one of its tools is on. It sees only the variables that are named.
#[providers.mcp.everything]
#command = "npx"
#arguments = ["-y", "@modelcontextprotocol/server-everything"]
#variables = ["MY_TOKEN"]
#[conversation.tools.echo]
#source = "mcp.everything"
#enable = true
`;
}
