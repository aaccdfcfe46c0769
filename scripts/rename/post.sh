cd /tmp/w/words
sed -i 's/(task\.after ??/(task.depends_on ??/; s/^    after,$/    depends_on: after,/' test/model/enqueues.ts
sed -i 's/child\.after\[/child.depends_on[/' test/model/time.ts
sed -i 's/waits, after }: Ended/waits, depends_on }: Ended/; s/waits || after\.some/waits || depends_on.some/' test/model/concurrent.test.ts
sed -i "s/^  \(after\|depends_on\)?: string\[\];/  dependsOn?: string[];/; s/after: given\.after/depends_on: given.dependsOn/; s/--after <ids>/--depends-on <ids>/" cli/commands/enqueue.ts

sed -i -E 's/\b(given|options)\.concurrency_key\b/\1.concurrencyKey/; s/\b(given|options)\.include_results\b/\1.includeResults/; s/\b(given|options)\.fencing_token\b/\1.fencingToken/g; s/^  concurrency_key\?: string/  concurrencyKey?: string/; s/^  include_results\?: boolean/  includeResults?: boolean/; s/^  fencing_token\?: string/  fencingToken?: string/' cli/commands/*.ts
sed -i -E 's/uniqueKey, concurrency_key, limit \} = options/uniqueKey, concurrencyKey, limit } = options/; s/unique_key: uniqueKey, concurrency_key \}/unique_key: uniqueKey, concurrency_key: concurrencyKey }/' cli/commands/tasks.ts

sed -i -E "s/'queue' \| 'unique_key' \| 'cursor'/'queue' | 'unique_key' | 'concurrency_key' | 'cursor'/; s/type Given = Filter & \{ uniqueKey\?: string;/type Given = Filter \& { uniqueKey?: string; concurrencyKey?: string;/" cli/commands/tasks.ts
npm run -s wire >/dev/null
npx biome check --write . > /tmp/w/rename/biome.txt 2>&1
python3 /tmp/w/rename/wrap.py $(git ls-files 'sql/*.sql' | grep -v schema.sql)
