/** `jp completion`: shell scripts that ask `jp complete` for candidates. */
import type { Call } from "../../define.ts";

export async function printCompletion({ args, context }: Call): Promise<void> {
  const shell = args[0] as Shell; // Commander has checked the choices.
  context.output.write(SCRIPTS[shell]);
}

type Shell = keyof typeof SCRIPTS;

const SCRIPTS = {
  bash: `# jp completion for bash. In ~/.bashrc:  source <(jp completion bash)
_jp() {
  local IFS=$'\\n' jp=$1 words=() last=0 line value i
  for ((i = 1; i <= COMP_CWORD; i++)); do
    # Readline treats = and : as separate words.
    if ((i > 1)) && [[ \${COMP_WORDS[i]} == [=:]* || \${COMP_WORDS[i-1]} == *[=:] ]] &&
      [[ -n \${COMP_WORDS[i]} || \${COMP_LINE:0:COMP_POINT} != *[[:space:]] ]]; then
      words[last]+=\${COMP_WORDS[i]}
    else
      words+=("\${COMP_WORDS[i]}")
      last=$((\${#words[@]} - 1))
    fi
  done
  local typed=\${words[last]} before=""
  [[ $typed == *[=:]* ]] && before=\${typed%"\${typed##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r line; do
    value=\${line%%$'\\t'*}
    [[ $value == *[=./] ]] && compopt -o nospace
    value=\${value#"$before"}
    # A second Tab lists the candidates, so there is room for descriptions.
    if [[ $COMP_TYPE == 63 && -n \${line#*$'\\t'} ]]; then
      printf -v value '%-20s  (%s)' "$value" "\${line#*$'\\t'}"
    fi
    COMPREPLY+=("$value")
  done < <("\${jp/#\\~/$HOME}" complete -- "\${words[@]}" 2>/dev/null)
}
complete -o default -o nosort -F _jp jp 2>/dev/null || complete -o default -F _jp jp
`,
  zsh: `#compdef jp
# jp completion for zsh. In ~/.zshrc, after compinit:  source <(jp completion zsh)
_jp() {
  local line value text
  local -a ended endedShown open openShown
  for line in "\${(@f)$(jp complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    value=\${line%%$'\\t'*}
    [[ -n $value ]] || continue
    text="\${(r:24:)value}  \${line#*$'\\t'}"
    if [[ $value == *[=./] ]]; then
      open+=("$value") openShown+=("$text")
    else
      ended+=("$value") endedShown+=("$text")
    fi
  done
  if (( \${#ended} + \${#open} == 0 )); then
    _files
    return
  fi
  # jp has already filtered the candidates, not only by prefix.
  (( \${#ended} )) && compadd -U -V jp -l -d endedShown -- "\${ended[@]}"
  (( \${#open} )) && compadd -U -V jp -l -S '' -d openShown -- "\${open[@]}"
  return 0
}
if [[ \${funcstack[1]} == _jp ]]; then
  _jp "$@"
else
  compdef _jp jp
fi
`,
  fish: `# jp completion for fish. Save it as ~/.config/fish/completions/jp.fish
function __jp_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l found (jp complete -- $words[2..-1] "$typed" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        complete -C "'' $typed"
    end
end
complete -c jp -f -a '(__jp_complete)'
`,
} as const;
