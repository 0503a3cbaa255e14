import { definePlugin } from '@device-core/plugin-api';
import { nfc } from '@device-core/plugin-api/services/nfc';
import { operations } from '@device-core/plugin-api/services/operations';
import { type LookSettings, Looks } from './looks.ts';
import { nfcOperations } from './operations.ts';
import { Readers } from './readers.ts';

export const plugin = definePlugin<{ operations: typeof operations }, LookSettings>({
  requires: { operations },
  setup(host, services) {
    const { scope, bus, config, log } = host;
    const readers = new Readers((reader, tag, state) => {
      log.debug({ reader, uid: tag.uid }, `a tag ${state}`);
      bus.publish('nfc.tag', { reader, state, ...tag });
      looks.stir();
    });
    const looks = new Looks(scope, config, readers);
    host.provide(nfc, {
      register(reader, source, owner) {
        const registered = readers.register(reader, source, owner);
        looks.stir();
        return registered;
      },
      readers: () => readers.readers(),
      poll: (reader, options) => readers.poll(reader, options),
      read: (reader, options) => readers.read(reader, options),
      write: (records, reader, options) => readers.write(records, reader, options),
    });
    for (const operation of nfcOperations(readers))
      scope.use(`operation ${operation.name}`, services.operations.add(operation));
    host.tap('health.collect', (report) => {
      const [first] = readers.troubled.toSorted((one, other) => Number(one.waits) - Number(other.waits));
      if (!first) return report.add('nfc', { status: 'okay' });
      const message = `${first.name}: ${first.problem}`;
      if (first.waits) report.add('nfc', { status: 'waiting', code: 'NOT_INITIALIZED', message });
      else report.add('nfc', { status: 'error', code: 'READER_FAILED', message });
    });
  },
});
