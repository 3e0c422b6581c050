# Completion of weir's commands, options and files in bash. Installed as share/bash-completion/completions/weir, where
# bash-completion finds it; without that, source it.

# Adds those of the words that begin with the one that is being typed.
_weir_words() {
  local found
  while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen -W "$1" -- "$word")
}

_weir_files() {
  local found
  compopt -o filenames 2>/dev/null # a directory gets its slash
  while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen -f -- "$word")
}

# The options of `weir log COMMAND`.
_weir_log_options() {
  case $1 in
  create) echo --topic --shards --dedupe-horizon --json ;;
  append) echo --topic --key --shard --jsonl --offsets --json ;;
  read | tail) echo --topic --after --limit --shard --json ;;
  head) echo --topic --json ;;
  trim) echo --topic --through --force --hold-entries --hold-bytes --hold-age --json ;;
  snapshot) echo --topic --at --list --read --json ;;
  checkpoints) echo --topic --drop --set --to --json ;;
  verify | repair) echo --json ;;
  esac
}

_weir() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]-} log_command=${COMP_WORDS[2]-}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    if [[ $word == -* ]]; then _weir_words "--help --version"; else _weir_words "run check log version"; fi
    return
  fi
  if [[ $command == log ]] && ((COMP_CWORD == 2)); then
    if [[ $word == -* ]]; then
      _weir_words --help
    else
      _weir_words "create append read tail head trim snapshot checkpoints verify repair"
    fi
    return
  fi
  case $previous in
  # What follows is a value that nobody can guess.
  = | --topic | --shards | --dedupe-horizon | --key | --shard | --after | --limit | --through | --hold-* | --at | --read | --drop | \
    --set | --to) return ;;
  esac
  if [[ $word != -* ]]; then
    if [[ $command == run || $command == check || $command == log ]]; then _weir_files; fi
    return
  fi
  case $command in
  run | check) _weir_words "--help --quiet --json" ;;
  log) _weir_words "--help $(_weir_log_options "$log_command")" ;;
  version) _weir_words --help ;;
  esac
}

complete -F _weir weir
