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

# The options of `weir bus COMMAND`.
_weir_bus_options() {
  case $1 in
  publish) echo --bus --channel --key --json ;;
  subscribe) echo --bus --channel --count --policy --buffer --json ;;
  stat) echo --bus --channel --for --json ;;
  esac
}

_weir() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} before=${COMP_WORDS[COMP_CWORD - 2]-}
  local command=${COMP_WORDS[1]-} subcommand=${COMP_WORDS[2]-}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    if [[ $word == -* ]]; then _weir_words "--help --version"; else _weir_words "run check log bus version"; fi
    return
  fi
  if [[ $command == log || $command == bus ]] && ((COMP_CWORD == 2)); then
    if [[ $word == -* ]]; then
      _weir_words --help
    elif [[ $command == log ]]; then
      _weir_words "create append read tail head trim snapshot checkpoints verify repair"
    else
      _weir_words "publish subscribe stat"
    fi
    return
  fi
  # bash takes --policy=WORD for three words.
  if [[ $previous == --policy || ($previous == = && $before == --policy) || ($word == = && $previous == --policy) ]]; then
    word=${word#=}
    _weir_words "drop-newest drop-oldest conflate last-by-key end"
    return
  fi
  case $previous in
  # What follows is a value that nobody can guess.
  = | --topic | --shards | --dedupe-horizon | --key | --shard | --after | --limit | --through | --hold-* | --at | --read | --drop | \
    --set | --to | --bus | --channel | --count | --buffer | --for) return ;;
  esac
  if [[ $word != -* ]]; then
    if [[ $command == run || $command == check || $command == log ]]; then _weir_files; fi
    return
  fi
  case $command in
  run | check) _weir_words "--help --quiet --json" ;;
  log) _weir_words "--help $(_weir_log_options "$subcommand")" ;;
  bus) _weir_words "--help $(_weir_bus_options "$subcommand")" ;;
  version) _weir_words --help ;;
  esac
}

complete -F _weir weir
