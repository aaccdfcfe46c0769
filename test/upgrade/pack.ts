import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { readSql } from '../../migrate/files.ts';

// node test/upgrade/pack.ts 1.2.3: packs sql/ as it is released, for upgrade tests from then on.
const [name, directory] = process.argv.slice(2);
if (!name) throw new Error('Name the release: node test/upgrade/pack.ts 1.2.3');
const files = readSql(directory);
const text = [...files.migrations, ...files.routines, ...files.cron]
  .map((file) => `-- sql/${file.name}\n${file.sql}`)
  .join('');
writeFileSync(new URL(`${name}.sql.gz`, import.meta.url), gzipSync(text, { level: 9 }));
process.stdout.write(`test/upgrade/${name}.sql.gz\n`);
