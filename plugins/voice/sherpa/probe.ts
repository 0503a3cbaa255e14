/**
 * A program of its own: makes an engine and lets it work a little. A model that sherpa-onnx cannot use ends the process
 * that tries it, and says why on stderr only; here that costs nothing but the answer. Its arguments are the package and
 * a Shape.
 */
import { createRequire } from 'node:module';
import type { Shape } from './shapes.ts';
import type { Sherpa } from './sherpa.ts';

const RATE = 16_000;
const [name = '', shape = '{}'] = process.argv.slice(2);
const { make, config } = JSON.parse(shape) as Shape;
const sherpa = createRequire(import.meta.url)(name) as Sherpa;
const wave = { samples: new Float32Array(RATE), sampleRate: RATE };
switch (make) {
  case 'Vad': {
    const vad = new sherpa.Vad(config, 2);
    vad.acceptWaveform(wave.samples);
    vad.isDetected();
    break;
  }
  case 'OfflineRecognizer': {
    const recognizer = await sherpa.OfflineRecognizer.createAsync(config);
    const stream = recognizer.createStream();
    stream.acceptWaveform(wave);
    await recognizer.decodeAsync(stream);
    recognizer.getResult(stream);
    break;
  }
  case 'OnlineRecognizer':
  case 'KeywordSpotter': {
    const engine = new sherpa[make](config);
    const stream = engine.createStream();
    stream.acceptWaveform(wave);
    stream.inputFinished();
    while (engine.isReady(stream)) engine.decode(stream);
    engine.getResult(stream);
    break;
  }
  case 'OfflineTts': {
    const tts = await sherpa.OfflineTts.createAsync(config);
    await tts.generateAsync({ text: 'one', sid: 0, speed: 1, enableExternalBuffer: false });
    break;
  }
}
process.stdout.write('done\n');
