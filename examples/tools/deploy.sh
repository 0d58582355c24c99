# $1 is the target, $2 the answer to "sure": true, false, or null before it was asked.
case $2 in
  null) cat <<END ;;
{ "type": "needs_input", "question": { "id": "sure", "text": "Deploy to $1?",
    "context": "3 files have changed.", "answer_type": { "type": "boolean" } } }
END
  true) echo "Deployed to $1." ;;
  *) echo "Nothing was deployed." ;;
esac
