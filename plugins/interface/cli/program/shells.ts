/** Completion scripts. All the knowledge is in `devicectl __complete`; these only hand the words over. */
export const SHELLS = {
  bash: `_devicectl() {
  local IFS=$'\\n' line
  COMPREPLY=()
  while read -r line; do COMPREPLY+=("$line"); done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [[ \${COMPREPLY[0]-} == *= ]] && compopt -o nospace
  return 0
}
complete -o default -F _devicectl devicectl`,
  zsh: `#compdef devicectl
_devicectl() {
  local -a candidates
  candidates=("\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -a candidates
}
compdef _devicectl devicectl`,
  fish: `function __devicectl
  set -l words (commandline -opc)
  $words[1] __complete -- $words[2..-1] (commandline -ct | string collect --allow-empty) 2>/dev/null
end
complete -c devicectl -f -a '(__devicectl)'`,
} as const;
