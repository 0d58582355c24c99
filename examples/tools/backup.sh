#!/bin/sh
# A tool for jp that saves a backup of a file.
# $1 is the file, $2 the answer to "overwrite": true, false, or null before it was asked.
if [ -e "$1.bak" ] && [ "$2" = null ]; then
  cat <<'END'
{
  "type": "needs_input",
  "question": {
    "id": "overwrite",
    "text": "There is a backup already. Replace it?",
    "answer_type": { "type": "boolean" },
    "default": false,
    "persistence": "none"
  }
}
END
elif [ "$2" = false ]; then
  echo "The old backup was kept."
else
  cp -- "$1" "$1.bak" && echo "Saved $1.bak"
fi
