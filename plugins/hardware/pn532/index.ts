import { definePlugin } from '@device-core/plugin-api';
import { i2c } from '@device-core/plugin-api/services/i2c';
import { nfc } from '@device-core/plugin-api/services/nfc';
import { Pn532 } from './chip.ts';
import { Type2Tag } from './type2.ts';

interface Settings {
  readonly handle: string;
  readonly name: string;
}

export const plugin = definePlugin<{ nfc: typeof nfc; i2c: typeof i2c }, Settings>({
  requires: { nfc, i2c },
  setup(host, services) {
    const { handle, name } = host.config;
    const chip = new Pn532(services.i2c, handle, host.clock);
    const registered = services.nfc.register(
      { name, chip: 'PN532' },
      {
        poll: (options) => chip.find(options),
        read: (_, options) => new Type2Tag(chip, 'read', options).read(),
        write: (_, message, options) => new Type2Tag(chip, 'write', options).write(message),
      },
      `plugin.${host.id}`,
    );
    host.scope.use(`reader ${name}`, registered);
  },
});
