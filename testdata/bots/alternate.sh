#!/bin/sh
# Even and odd in turn. A word alone is an answer, too.
choice=odd
while read -r question; do
  if [ "$choice" = odd ]; then choice=even; else choice=odd; fi
  echo "$choice"
done
