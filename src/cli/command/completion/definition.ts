/** `jp completion`: the words that describe it. */
import { Argument, type Command } from "commander";
import { command } from "../../define.ts";

export function defineCompletion(definition: Command): void {
  definition
    .addArgument(new Argument("<shell>", "your shell").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      `
  bash   in ~/.bashrc:  source <(jp completion bash)
  zsh    in ~/.zshrc, behind compinit:  source <(jp completion zsh)
  fish   jp completion fish > ~/.config/fish/completions/jp.fish`,
    )
    .action(command(async () => (await import("./completion.ts")).printCompletion));
}
