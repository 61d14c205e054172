read -r task
echo "this goes to the log" >&2
echo '{"save": {"greeted": true}}'
read -r answer
echo '{"action": "complete", "output": "hello from a shell"}'
